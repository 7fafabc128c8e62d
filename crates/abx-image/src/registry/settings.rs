//! How to reach registries, as values.

use std::collections::BTreeMap;
use std::sync::Arc;

use abx_core::host::HostNetwork;

use super::CredentialSource;

/// Settings of all registries. `Default`: every registry over HTTPS, anonymously.
#[derive(Clone, Debug, Default)]
pub struct RegistrySettings {
    /// Authorities and proxies.
    pub network: HostNetwork,
    /// By host (and port), as [`crate::RegistryName::registry`] gives it: `docker.io` for Docker Hub.
    pub registries: BTreeMap<String, Registry>,
    /// Who knows log-ins; `None` knows of none.
    pub credentials: Option<Arc<dyn CredentialSource>>,
}

/// Settings of one registry.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// Asked first: a host, or an address with a scheme and maybe a path. Its own settings and log-in are
    /// those under its own host; the registry's never go to it.
    pub mirror: Option<String>,
    /// Plain HTTP. Registries on the loopback are spoken to so without being asked.
    pub insecure: bool,
}
