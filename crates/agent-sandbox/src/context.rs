//! Where things are and how this user wants them: the value every operation takes first.

use std::path::{Path, PathBuf};

use abx_core::host::HostNetwork;
use abx_core::{Home, Secret};
use abx_image::{ImageStore, Registry, RegistrySettings};
use abx_source::SourceContext;
use abx_source::github::PUBLIC_API;

use crate::Error;
use crate::settings::Settings;

/// The surroundings of an operation.
#[derive(Clone, Debug)]
pub struct Context {
    /// State: `~/.sandbox`, or where `ABX_HOME` says.
    pub home: Home,
    /// `~/.abx/config.toml` with environment variables over it.
    pub settings: Settings,
    /// The host's mirrors, proxies and certificates.
    pub host: HostNetwork,
    /// Relative references start here.
    pub cwd: PathBuf,
    /// What `~/` means in a reference.
    pub user_home: Option<PathBuf>,
    /// Base address of GitHub's API.
    pub github_api: String,
    /// The token for it that the environment has; files are read where one is needed.
    pub github_token: Option<Secret>,
    /// The `abx` executable, which re-executes itself as monitor and step helper.
    pub exe: PathBuf,
}

impl Context {
    /// Reads the process's environment, the user's settings and the host's configuration.
    ///
    /// # Errors
    /// E2000 where there is no home folder; E2004 for a settings file that does not parse.
    pub fn from_env() -> Result<Self, Error> {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let text = |name: &str| var(name).and_then(|value| value.into_string().ok());
        let user_home = var("HOME").map(PathBuf::from);
        let home = match var("ABX_HOME") {
            Some(home) => std::path::absolute(PathBuf::from(home)).map_err(Error::working_directory)?,
            None => user_home.as_ref().ok_or(Error::NoHome)?.join(".sandbox"),
        };
        let settings_file = user_home.as_ref().map(|home| home.join(".abx/config.toml"));
        let settings = Settings::load(settings_file.as_deref())?;
        let host = if settings.host_network_config {
            crate::host::discover(Path::new("/"), &|name| std::env::var(name).ok())
        } else {
            HostNetwork::default()
        };
        Ok(Self {
            home: Home::new(home),
            settings,
            host,
            cwd: std::env::current_dir().map_err(Error::working_directory)?,
            user_home,
            github_api: text("ABX_GITHUB_API_URL").unwrap_or_else(|| PUBLIC_API.to_owned()),
            github_token: text("GITHUB_TOKEN").map(Secret::new),
            // The running file itself, even when another version has been installed over it since.
            exe: PathBuf::from("/proc/self/exe"),
        })
    }

    /// Where references are looked up.
    pub(crate) fn source(&self) -> SourceContext {
        SourceContext::new(self.home.clone(), self.cwd.clone(), self.user_home.clone())
    }

    /// Layers and images on disk.
    pub(crate) fn store(&self) -> ImageStore {
        ImageStore::open(&self.home)
    }

    /// How to reach registries.
    pub(crate) fn registries(&self) -> RegistrySettings {
        let registry = |settings: &crate::settings::Registry| Registry {
            mirror: settings.mirror.clone(),
            insecure: settings.insecure,
            credentials: None,
        };
        let registries = self
            .settings
            .registry
            .iter()
            .map(|(host, settings)| (host.clone(), registry(settings)))
            .collect();
        RegistrySettings { network: self.host.clone(), registries }
    }

    pub(crate) fn engine(&self) -> abx_engine::create::Engine {
        abx_engine::create::Engine { home: self.home.clone(), exe: self.exe.clone() }
    }
}
