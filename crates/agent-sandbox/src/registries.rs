//! How to reach registries.

use std::sync::Arc;

use abx_image::{Registry, RegistrySettings};

use crate::Context;

impl Context {
    /// How to reach registries: the user's settings of them, and who knows log-ins.
    pub(crate) fn registries(&self) -> RegistrySettings {
        let registry = |settings: &crate::settings::Registry| Registry {
            mirror: settings.mirror.clone(),
            insecure: settings.insecure,
        };
        let registries =
            self.settings.registry.iter().map(|(host, settings)| (host.clone(), registry(settings)));
        RegistrySettings {
            network: self.host.clone(),
            registries: registries.collect(),
            credentials: Some(Arc::new(self.credentials.clone())),
        }
    }
}
