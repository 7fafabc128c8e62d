//! What only the package can tell about its Dockerfile.

use abx_core::{Code, Fault, Snippet};

/// Something wrong with a Dockerfile in its package, at its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DockerfileFault {
    /// The template.yaml beside it says something else; its place comes first.
    #[error("`base` is not what the Dockerfile begins with, {begins}")]
    BaseDiffers { begins: String, stated: Box<Snippet>, from: Box<Snippet> },
    #[error("there is no `{path}` in the package")]
    NoSource { path: String, at: Box<Snippet> },
    #[error("`{path}` is left out of the build by {ignore}")]
    Ignored { path: String, ignore: String, at: Box<Snippet> },
    /// Nothing is copied; questionable, no reason to stop.
    #[error("`{pattern}` matches nothing of the package that the build sees")]
    NoMatch { pattern: String, at: Box<Snippet> },
    #[error("a build here makes images for {host}, not for {wanted}")]
    Platform { wanted: String, host: String, at: Box<Snippet> },
}

impl Fault for DockerfileFault {
    fn code(&self) -> Code {
        match self {
            Self::Platform { .. } => Code::HostLacks,
            _ => Code::SpecInvalid,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::BaseDiffers { .. } => "the Dockerfile defines the image: leave `base` out",
            Self::NoSource { .. } => "sources are paths below the package's folder",
            Self::Ignored { .. } => "take it back there with a line that begins with `!`",
            Self::NoMatch { .. } => {
                "nothing is copied there; take the source out, or see what an ignore file leaves out"
            }
            Self::Platform { .. } => "leave `--platform` out, or build on such a host",
        };
        vec![hint.to_owned()]
    }

    fn snippets(&self) -> Vec<Snippet> {
        match self {
            Self::BaseDiffers { stated, from, .. } => vec![(**stated).clone(), (**from).clone()],
            Self::NoSource { at, .. }
            | Self::Ignored { at, .. }
            | Self::NoMatch { at, .. }
            | Self::Platform { at, .. } => vec![(**at).clone()],
        }
    }
}
