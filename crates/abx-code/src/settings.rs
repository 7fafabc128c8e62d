//! What the server is told.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use abx_protocol::code::{AUTO_INSTALL, AUTO_INSTALL_PIP};

use crate::kernel::spec::data_directories;

/// Who it runs cells for.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What kernels start with.
    pub env: BTreeMap<String, String>,
    /// The data directories of Jupyter, where kernels are looked for.
    pub kernels: Vec<PathBuf>,
}

impl Settings {
    /// What this process has; text that is not UTF-8 is passed over.
    pub fn from_env() -> Self {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let env = std::env::vars_os().filter_map(text).collect();
        let kernels = data_directories(&env);
        Self { env, kernels }
    }

    /// Where a context is that names no directory: the home, where it is one.
    pub(crate) fn home(&self) -> PathBuf {
        let home = self.env.get("HOME").map(Path::new);
        home.filter(|home| home.is_absolute() && home.is_dir()).unwrap_or(Path::new("/")).to_owned()
    }

    /// Whether missing modules are installed where a request does not say.
    pub(crate) fn installs(&self) -> bool {
        self.env.get(AUTO_INSTALL).is_some_and(|how| how.eq_ignore_ascii_case(AUTO_INSTALL_PIP))
    }
}
