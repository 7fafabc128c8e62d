//! A package whose Dockerfile defines its image.
//!
//! In reading order: `read` finds and parses the file and what it ignores; [`origin`] says what its `FROM`s mean;
//! [`said`] is what it says of how to run the image, and [`declared`] what that comes to for a sandbox; `reach` is what
//! of the folder it can copy, `sources` what it names there; [`fault`] what only the folder can tell.

pub mod declared;
pub mod fault;
pub mod origin;
pub(crate) mod reach;
pub(crate) mod read;
pub mod said;
mod sources;

use std::sync::Arc;

use abx_core::Snippet;
use abx_dockerfile::{Graph, Ignore, Inputs};
use abx_spec::{Place, Spec};

use crate::Lineage;
use crate::lock::LockedBase;
pub use declared::Declared;
pub use fault::DockerfileFault;
pub use origin::Origin;
pub use said::Said;

/// Names a Dockerfile may have in a package; the first that is there counts.
pub const NAMES: [&str; 2] = ["Dockerfile", "Containerfile"];

/// What the caller says of the Dockerfile of the template that is asked for. Those of its ancestors are theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DockerfileOptions {
    /// The name of a template that has none of its own: a folder with no more than a Dockerfile.
    pub name: Option<String>,
    /// `--build-arg`: values for its arguments.
    pub arguments: Vec<(String, String)>,
    /// The stage that becomes the image; the last one where absent.
    pub target: Option<String>,
}

/// The Dockerfile of a package.
#[derive(Clone, Debug)]
pub struct Dockerfile {
    /// Its name in the package's folder.
    pub name: &'static str,
    pub file: Arc<abx_dockerfile::Dockerfile>,
    /// What of the folder the build does not see.
    pub ignore: Option<Arc<Ignore>>,
    /// Its arguments and platforms.
    pub inputs: Inputs,
    pub target: Option<String>,
    pub graph: Graph,
    /// What the image begins with.
    pub origin: Origin,
    /// Every other template that it begins a stage with or copies from, by the name it has there.
    pub templates: Vec<(String, Lineage)>,
    /// Every other image, in the same way, and what a lock says that it is.
    pub images: Vec<(String, Option<LockedBase>)>,
    /// Whether there is no template.yaml beside it.
    pub is_alone: bool,
    /// What the template.yaml says, without what the Dockerfile does.
    pub(crate) stated: Spec,
}

impl Dockerfile {
    /// The name messages give it: `./mine/Dockerfile`.
    pub fn display(&self) -> &str {
        self.file.source.file()
    }

    /// A place in it together with the line.
    pub(crate) fn snippet(&self, place: &Place) -> Snippet {
        let text = self.file.source.text();
        let source = text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default();
        let column = place.column.max(1);
        let length = source.trim_end().chars().count().saturating_sub(column - 1).max(1);
        let (file, source) = (place.file.clone(), source.to_owned());
        Snippet { file, line: place.line, column, length, source, label: String::new() }
    }

    /// The stage at the bottom of the target.
    pub(crate) fn root(&self) -> Option<&abx_dockerfile::Link> {
        self.chain().first().and_then(|stage| self.graph.links.get(*stage))
    }

    /// Where it says what the image begins with.
    pub(crate) fn from(&self) -> Snippet {
        let stage = self.chain().first().and_then(|stage| self.file.stages.get(*stage));
        self.file.source.snippet(stage.map(|stage| stage.from.image.span).unwrap_or_default())
    }

    /// The stages that make the image itself, the first of them first: each but that one begins with the one before.
    pub(crate) fn chain(&self) -> Vec<usize> {
        let mut chain = vec![self.graph.target];
        while let Some(abx_dockerfile::Origin::Stage(below)) =
            chain.last().and_then(|stage| self.graph.links.get(*stage)).map(|link| &link.base)
        {
            chain.push(*below);
        }
        chain.reverse();
        chain
    }
}
