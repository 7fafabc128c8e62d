//! Where to look.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use abx_core::Home;
use abx_image::RegistrySettings;
use abx_reference::{LocalPath, Name};

use crate::builtin::{Builtin, builtins};
use crate::catalog::{Catalog, CatalogError, DEFAULT_INDEX};
use crate::dockerfile::DockerfileOptions;
use crate::github::Checkout;
use crate::local_archive::LocalArchive;
use crate::lock::Lock;
use crate::lock::find::FoundLock;
use crate::official::OFFICIAL;
use crate::registry::RegistryImage;
use crate::releases::{self, Releases};

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
    /// Their releases.
    pub releases: &'static [Releases],
    /// The official repository: one of GitHub, or the directory of a checkout.
    pub official: String,
    /// Where the index of the catalog is: a URL or a file.
    pub index: String,
    /// The catalog, or why it is not to be had; [`fetch`](crate::fetch) asks for it where a name is unknown else.
    pub catalog: Option<Arc<Result<Catalog, CatalogError>>>,
    /// What resources a package may ask for.
    pub limits: abx_spec::Bounds,
    /// The repositories that are at hand; [`fetch`](crate::fetch) adds those a reference needs.
    pub checkouts: Vec<Checkout>,
    /// The archives of this machine that have been unpacked, in the same way.
    pub archives: Vec<LocalArchive>,
    /// How to reach registries.
    pub registries: RegistrySettings,
    /// The images of registries that have been looked up, in the same way.
    pub images: Vec<RegistryImage>,
    /// What references were locked to; they are resolved to that while it is to be had.
    pub lock: Option<FoundLock>,
    /// How the Dockerfile of the template that is asked for is read.
    pub dockerfile: DockerfileOptions,
}

/// What a package of somebody else cannot reach beyond by paths.
pub(crate) struct Bounds<'c> {
    pub(crate) top: &'c Path,
    /// How the user knows it.
    pub(crate) display: String,
}

impl SourceContext {
    /// With the templates that are embedded in this program.
    pub fn new(home: Home, cwd: PathBuf, user_home: Option<PathBuf>) -> Self {
        Self {
            home,
            cwd,
            user_home,
            builtins: builtins(),
            releases: releases::all(),
            official: OFFICIAL.to_owned(),
            index: DEFAULT_INDEX.to_owned(),
            catalog: None,
            limits: abx_spec::Bounds::default(),
            checkouts: Vec::new(),
            archives: Vec::new(),
            registries: RegistrySettings::default(),
            images: Vec::new(),
            lock: None,
            dockerfile: DockerfileOptions::default(),
        }
    }

    /// What references are to be resolved to.
    pub(crate) fn locked(&self) -> Option<&Lock> {
        self.lock.as_ref().map(|found| &found.lock)
    }

    /// The one version that a name is locked to.
    pub(crate) fn locked_name(&self, name: &Name) -> Option<Name> {
        let found = self.lock.as_ref().filter(|found| !found.frees_names)?;
        found.lock.name(name)
    }

    /// The repository a package's directory is in.
    pub(crate) fn checkout_of(&self, root: &Path) -> Option<&Checkout> {
        self.checkouts.iter().find(|checkout| root.starts_with(&checkout.root))
    }

    /// Whether a package's directory is a copy that we made of a repository or an archive.
    pub(crate) fn bounds_of(&self, root: &Path) -> Option<Bounds<'_>> {
        if let Some(found) = self.checkout_of(root) {
            return Some(Bounds { top: &found.root, display: found.reference.to_string() });
        }
        let found = self.archives.iter().find(|archive| root.starts_with(&archive.tree))?;
        Some(Bounds { top: &found.tree, display: found.file.display().to_string() })
    }

    /// The directory a path means, seen from `start`; `None` where it begins with an unknown home.
    pub(crate) fn directory(&self, path: &LocalPath, start: &Path) -> Option<PathBuf> {
        match path.below_home() {
            Some(rest) => self.user_home.as_ref().map(|home| home.join(rest)),
            None => Some(start.join(path.as_str())),
        }
    }
}
