//! Reference in, [`Lineage`] out: the package it names and every package it inherits from.
//!
//! In reading order: [`context`] (where to look), [`resolve`](mod@resolve) (the one loop over `base.from`),
//! [`lineage`] (its result), [`package`] (one member: its specification and its files). What a bare name means is found
//! in `named`: [`builtin`] templates (embedded in the program) and their [`releases`](mod@releases), the [`official`]
//! repository, `stored` images (that were given a name here) with [`kept`] (the files their packages had), and the
//! [`catalog`](mod@catalog). The other places a package comes from are [`local`] (a directory), [`local_archive`] (an
//! archive of one), [`vendored`] (a file with a whole lineage and its image), [`registry`] (an image that carries its
//! lineage) and [`github`] (a repository at one commit) with [`archive`] (what is made of an archive of somebody else).
//! [`fetch`](mod@fetch) has on disk what resolving needs, [`lock`](mod@lock) holds it to what it was.
//! [`dockerfile`](mod@dockerfile) is the other way for a package to define its image.
//! [`suites`](mod@suites) reads the tests that come with a package, [`validate`](mod@validate) looks closer than a build needs; [`cached`](mod@cached) lists what is kept; [`digest`] says
//! what identifies a package; [`error`] what can go wrong, [`faults`] all at once.
//!
//! **Architecture Invariant:** nothing outside [`SourceContext::home`] is written, and a package's own
//! folder never is. The network is reached by [`fetch`](mod@fetch) alone; everything else is a matter of files.

pub mod archive;
pub mod builtin;
pub mod cached;
pub mod catalog;
mod check;
pub mod context;
pub mod digest;
pub mod dockerfile;
pub mod error;
pub mod faults;
pub mod fetch;
pub mod github;
pub mod kept;
pub mod lineage;
pub mod local;
pub mod local_archive;
pub mod lock;
mod named;
pub mod official;
pub mod package;
pub mod registry;
pub mod releases;
pub mod resolve;
mod stored;
pub mod suites;
pub mod validate;
pub mod vendored;

pub use builtin::{Builtin, EmbeddedFile, builtins};
pub use cached::{Cached, CachedOrigin, cached, forget_absent};
pub use catalog::{Catalog, CatalogError, catalog};
pub use context::SourceContext;
pub use dockerfile::{Dockerfile, DockerfileFault, DockerfileOptions, Said};
pub use error::{Catalogue, SourceError};
pub use faults::Faults;
pub use fetch::{fetch, fetch_leaf};
pub use github::{Checkout, GithubError, GithubSettings};
pub use kept::{check_local_name, keep};
pub use lineage::{BaseImage, Lineage};
pub use local_archive::LocalArchive;
pub use lock::{Lock, LockError};
pub use named::is_taken;
pub use package::{HEALTHCHECK, Package, PackageRoot};
pub use registry::{ANNOTATION, RegistryError, RegistryImage, pin_image};
pub use releases::{Release, Releases, releases};
pub use resolve::{leaf, resolve, resolve_reference, stands_for};
pub use suites::{SuiteFile, suites};
pub use validate::{Finding, Report, validate};
pub use vendored::{Vendored, VendoredError};
