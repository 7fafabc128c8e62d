//! `template.lock`: what a template and everything it inherits from came to.
//!
//! ```toml
//! version = 1
//!
//! [[template]]                    # the template itself, then what it inherits from, one after the other
//! reference = "."
//! kind = "directory"
//! name = "shop"
//! parent = "o/r//web@^1"          # the next one's reference, as `base.from` has it
//!
//! [[template]]
//! reference = "o/r//web@^1"
//! kind = "github"
//! name = "web"
//! tag = "v1.4.0"
//! commit = "…"
//! digest = "sha256:…"             # of the package, see `digest`
//!
//! [base]                          # the image at the bottom
//! image = "debian:bookworm-slim"
//! digest = "sha256:…"             # in its registry; of an archive: release, snapshot, platform, packages
//!
//! [[image]]                       # the same for every other image that a Dockerfile takes from
//! image = "golang:1.23"
//! digest = "sha256:…"
//! ```
//!
//! In reading order: [`read`](Lock::parse) and `write` are the form; [`describe()`] says what a lineage came to;
//! [`drift`](Lock::drift) says where two differ; [`find`](mod@find) looks for the one that holds; `pins` is what
//! resolving takes from it. [`error`] tells what can go wrong.
//!
//! The template itself has no digest where it is the directory beside the lock: one versions with the other, and who
//! edits a template does not lock it anew for every line.

mod describe;
mod drift;
pub mod error;
pub mod find;
mod pins;
mod read;
mod write;

pub use describe::describe;
pub use drift::{Drift, short};
pub use error::LockError;

/// The name of the file.
pub const FILE: &str = "template.lock";

/// The form this program reads and writes.
pub const VERSION: i64 = 1;

/// The reference of a template whose lock lies beside it.
pub const HERE: &str = ".";

/// What a lock file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The template itself first, each followed by what it inherits from; never empty.
    pub templates: Vec<LockedTemplate>,
    /// The image at the bottom; `None` where the image of a local template or a
    /// vendored file is.
    pub base: Option<LockedBase>,
    /// What else Dockerfiles of the lineage begin stages with or copy from, by name.
    pub images: Vec<LockedBase>,
}

/// One member of a lineage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedTemplate {
    /// As the child's `base.from` has it; of the template itself, how it was asked for.
    pub reference: String,
    pub kind: LockedKind,
    /// `metadata.name`, or of a local template what it is called here; empty for an image without one.
    pub name: String,
    /// The version of a built-in, the tag of a local template, the tag in a repository that a range came to.
    pub tag: Option<String>,
    /// Where it was found, where its reference does not say so: a name, an alias.
    pub source: Option<String>,
    pub commit: Option<String>,
    /// Of the package; of a local template, of its image.
    pub digest: Option<String>,
}

/// Where a member was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockedKind {
    /// A directory, of this machine or of the child's repository.
    Directory,
    Github,
    BuiltIn,
    /// Built or snapshotted on this machine.
    Local,
    /// A vendored file.
    File,
    /// An image of a registry, which may hold a whole lineage.
    Image,
}

/// The image at the bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockedBase {
    /// The digest is that of the name's index where it has one: it holds on every platform.
    Registry {
        image: String,
        digest: String,
    },
    Archive(LockedArchive),
}

/// An image that was made from a distribution's archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedArchive {
    pub image: String,
    pub release: String,
    /// The date of the newest signed release file.
    pub snapshot: String,
    /// `linux/amd64`.
    pub platform: String,
    /// `name=version`, by name.
    pub packages: Vec<String>,
}

impl LockedKind {
    const ALL: [Self; 6] =
        [Self::Directory, Self::Github, Self::BuiltIn, Self::Local, Self::File, Self::Image];

    /// As files and users have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Directory => "directory",
            Self::Github => "github",
            Self::BuiltIn => "built-in",
            Self::Local => "local",
            Self::File => "file",
            Self::Image => "image",
        }
    }
}

impl LockedBase {
    /// An image of a registry; a name that holds the digest itself is kept without it.
    pub fn registry(name: &str, digest: &str) -> Self {
        let image = name.strip_suffix(digest).and_then(|rest| rest.strip_suffix('@')).unwrap_or(name);
        Self::Registry { image: image.to_owned(), digest: digest.to_owned() }
    }

    /// Whether it says what the image `name` is, which may hold the digest itself.
    pub fn is_of(&self, name: &str) -> bool {
        match self {
            Self::Registry { digest, .. } => {
                matches!(Self::registry(name, digest), Self::Registry { image, .. } if image == self.image())
            }
            Self::Archive(archive) => archive.image == name,
        }
    }

    /// The image's name, as a template or the user wrote it.
    pub fn image(&self) -> &str {
        match self {
            Self::Registry { image, .. } => image,
            Self::Archive(archive) => &archive.image,
        }
    }
}

impl Lock {
    /// How the template itself was asked for; [`HERE`] where the lock lies beside it.
    pub fn top(&self) -> &str {
        self.templates.first().map_or(HERE, |template| &template.reference)
    }
}

#[cfg(test)]
mod tests;
