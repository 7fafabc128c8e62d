//! Where things are and how this user wants them: the value every operation takes first.

use std::path::{Path, PathBuf};

use abx_core::fs::Lock;
use abx_core::host::HostNetwork;
use abx_core::{Home, Secret};
use abx_image::ImageStore;
use abx_source::{DockerfileOptions, SourceContext};

use crate::Error;
use crate::credentials::CredentialFiles;
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
    /// Where log-ins for registries may be; read where a registry asks for one.
    pub credentials: CredentialFiles,
    /// No file that leaves the store in an image is newer than this, in seconds since 1970: `SOURCE_DATE_EPOCH`.
    pub source_date_epoch: Option<i64>,
    /// How the Dockerfile of the template that is asked for is read.
    pub(crate) dockerfile: DockerfileOptions,
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
        let settings = Settings::load(settings_file.as_deref(), &|name| text(name))?;
        let host = if settings.host_network_config {
            crate::host::discover(Path::new("/"), &|name| std::env::var(name).ok())
        } else {
            HostNetwork::default()
        };
        Ok(Self {
            home: Home::new(home),
            host,
            cwd: std::env::current_dir().map_err(Error::working_directory)?,
            credentials: CredentialFiles::discover(user_home.as_deref(), &|name| {
                var(name).map(PathBuf::from)
            }),
            user_home,
            github_api: settings.github_api_url.clone(),
            github_token: text(crate::github::TOKEN_VARIABLE).map(Secret::new),
            settings,
            source_date_epoch: text("SOURCE_DATE_EPOCH").and_then(|seconds| seconds.parse().ok()),
            dockerfile: DockerfileOptions::default(),
            // The running file itself, even when another version has been installed over it since.
            exe: PathBuf::from("/proc/self/exe"),
        })
    }

    /// Where references are looked up.
    pub(crate) fn source(&self) -> SourceContext {
        SourceContext {
            official: self.settings.official_repo.clone(),
            index: self.settings.template_index_url.clone(),
            limits: self.settings.limits.bounds(),
            registries: self.registries(),
            dockerfile: self.dockerfile.clone(),
            ..SourceContext::new(self.home.clone(), self.cwd.clone(), self.user_home.clone())
        }
    }

    /// Layers and images on disk.
    pub(crate) fn store(&self) -> ImageStore {
        ImageStore::open(&self.home).at_epoch(self.source_date_epoch)
    }

    /// [`Context::store`] as what is made of a template leaves it: nothing in it is newer than the commit the template is
    /// of, unless the environment says otherwise.
    pub(crate) fn store_of(&self, committed: Option<i64>) -> ImageStore {
        ImageStore::open(&self.home).at_epoch(self.source_date_epoch.or(committed))
    }

    /// [`Context::use_store`] for who only looks: where there is no store, none is made.
    pub(crate) async fn look_at_store(&self) -> Option<Lock> {
        if self.home.store("").exists() { self.use_store().await } else { None }
    }

    /// Keeps what is in the store from being cleaned away until the value is dropped: it is used, or about to be.
    /// `None` where the store cannot be written, and so cannot be cleaned by this user either.
    async fn use_store(&self) -> Option<Lock> {
        let _ = self.home.keep_store_private();
        let path = self.home.in_use_lock();
        match Lock::try_shared(&path) {
            Ok(None) => tokio::task::spawn_blocking(move || Lock::shared(&path).ok()).await.ok().flatten(),
            taken => taken.ok().flatten(),
        }
    }

    /// [`Context::use_store`] once it is known what to put there: a reference that is wrong, or a user who cannot build,
    /// leaves no store behind where there was none.
    pub(crate) async fn make_store(&self) -> Result<Option<Lock>, Error> {
        abx_isolate::require_root()?;
        Ok(self.use_store().await)
    }

    pub(crate) fn engine(&self) -> abx_engine::create::Engine {
        abx_engine::create::Engine { home: self.home.clone(), exe: self.exe.clone() }
    }
}
