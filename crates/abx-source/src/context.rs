//! Where to look.

use std::path::PathBuf;

use abx_core::Home;
use abx_reference::LocalPath;

use crate::builtin::{Builtin, builtins};
use crate::github::Checkout;

/// The surroundings a reference is resolved in.
#[derive(Clone, Debug)]
pub struct SourceContext {
    /// Where extracted packages and the names of local templates lie.
    pub home: Home,
    /// Relative paths start here; absolute.
    pub cwd: PathBuf,
    /// What `~/` means; `None` where nobody knows.
    pub user_home: Option<PathBuf>,
    /// The templates that come with the program.
    pub builtins: &'static [Builtin],
    /// The repositories that are at hand; [`fetch`](crate::fetch) adds those a reference needs.
    pub checkouts: Vec<Checkout>,
}

impl SourceContext {
    /// With the templates that are embedded in this program.
    pub fn new(home: Home, cwd: PathBuf, user_home: Option<PathBuf>) -> Self {
        Self { home, cwd, user_home, builtins: builtins(), checkouts: Vec::new() }
    }

    /// The repository a package's directory is in.
    pub(crate) fn checkout_of(&self, root: &std::path::Path) -> Option<&Checkout> {
        self.checkouts.iter().find(|checkout| root.starts_with(&checkout.root))
    }

    /// The directory a path means, seen from `start`; `None` where it begins with an unknown home.
    pub(crate) fn directory(&self, path: &LocalPath, start: &std::path::Path) -> Option<PathBuf> {
        match path.below_home() {
            Some(rest) => self.user_home.as_ref().map(|home| home.join(rest)),
            None => Some(start.join(path.as_str())),
        }
    }
}
