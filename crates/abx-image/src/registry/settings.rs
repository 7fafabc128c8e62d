//! How to reach registries, as values.

use std::collections::BTreeMap;

use abx_core::Secret;
use abx_core::host::HostNetwork;

/// Settings of all registries. `Default`: every registry over HTTPS, anonymously.
#[derive(Clone, Debug, Default)]
pub struct RegistrySettings {
    /// Authorities and proxies.
    pub network: HostNetwork,
    /// By host (and port), as [`crate::RegistryName::registry`] gives it: `docker.io` for Docker Hub.
    pub registries: BTreeMap<String, Registry>,
}

/// Settings of one registry.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// Asked first: a host, or an address with a scheme and maybe a path. Its own settings are those under
    /// its own host; credentials of the registry never go to it.
    pub mirror: Option<String>,
    /// Plain HTTP. Registries on the loopback are spoken to so without being asked.
    pub insecure: bool,
    pub credentials: Option<Credentials>,
}

/// A log-in.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub user: String,
    pub password: Secret,
}
