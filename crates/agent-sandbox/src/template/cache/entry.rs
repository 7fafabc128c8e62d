//! One thing that is kept.

use std::fmt;
use std::path::PathBuf;

use abx_image::{ImageId, LayerId};
use serde::Serialize;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A repository of templates at one commit.
    Repository,
    /// An archive of this machine, unpacked.
    Archive,
    /// An image, with the layers that no other image has.
    Image,
    /// A layer that no image has: of a build that failed or was made anew.
    Layer,
    /// Downloads of a package tool.
    Download,
    /// Logs of build steps.
    Log,
    /// What killed processes left.
    Leftover,
}

impl Kind {
    /// Every kind, in the order of lists.
    pub const ALL: [Self; 7] = [
        Self::Repository,
        Self::Archive,
        Self::Image,
        Self::Layer,
        Self::Download,
        Self::Log,
        Self::Leftover,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Repository => "repository",
            Self::Archive => "archive",
            Self::Image => "image",
            Self::Layer => "layer",
            Self::Download => "download",
            Self::Log => "log",
            Self::Leftover => "leftover",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An entry, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub kind: Kind,
    /// What a user may call it by: `owner/repo`, `python-base:1.0.0`, `pip`.
    pub name: String,
    /// Bytes that removing it alone frees.
    pub size: u64,
    /// Bytes of an image in layers that other images have too; 0 for anything else.
    pub shared: u64,
    /// Seconds since 1970.
    pub made: Option<u64>,
    /// Seconds since 1970.
    pub used: Option<u64>,
    /// Where it came from: a host, a registry, a file.
    pub origin: Option<String>,
    pub commit: Option<String>,
    /// Branches, tags and names that stand for it.
    pub refs: Vec<String>,
    /// Why cleaning leaves it, where it does.
    pub needed: Option<String>,
    /// What tells it from all others: a path, or an id.
    pub id: String,
}

/// An entry and how to remove it.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) entry: Entry,
    pub(super) target: Target,
}

/// What is removed.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A directory or file, whole.
    Path(PathBuf),
    Image(ImageId),
    Layer(LayerId),
    /// Directories of makers that are gone, which sweeping finds.
    Staging,
}

impl Item {
    /// When it was last of use to somebody; what nobody knows of is as old as can be.
    pub(super) fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.entry.used.or(self.entry.made).unwrap_or(0))
    }
}
