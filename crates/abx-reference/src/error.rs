//! Why a text is no reference.

use std::fmt;

use abx_core::{Code, Fault, without_credentials};

/// A malformed reference (E2005): the text as given and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed reference `{}`: {reason}", .text.escape_debug())]
pub struct ReferenceError {
    /// The text as given, with stars for a password in it.
    pub text: String,
    /// What is wrong with it.
    pub reason: Reason,
}

impl ReferenceError {
    pub(crate) fn new(text: &str, reason: Reason) -> Self {
        Self { text: without_credentials(text).into_owned(), reason }
    }
}

/// What is wrong with a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    #[error("it is empty")]
    Empty,
    #[error("the {0} is missing")]
    Missing(Part),
    #[error("`{}` cannot stand in {} {part}", .letter.escape_debug(), part.article())]
    Letter { part: Part, letter: char },
    #[error("{} {part} has at most {limit} characters", part.article())]
    TooLong { part: Part, limit: usize },
    #[error("`{text}` is no {part}")]
    Shape { part: Part, text: String },
    #[error("`{component}` cannot be a component of a sub-directory")]
    Component { component: String },
    #[error("`{text}` is no version range")]
    Range { text: String },
    #[error("`{text}` would be the home directory of another user")]
    OtherHome { text: String },
    #[error("`{scheme}://` is not a scheme of references")]
    Scheme { scheme: String },
    #[error("who logs in does not belong in it")]
    Credentials,
    #[error("`{host}` is not GitHub")]
    Host { host: String },
    #[error("a name's version follows a `:`, not a `@`")]
    NameAt { name: String, version: String },
}

/// The part of a reference something is wrong with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    Reference,
    Path,
    Name,
    Version,
    Owner,
    Repository,
    GitRef,
    Host,
    Image,
    Tag,
    Digest,
}

impl Part {
    fn article(self) -> &'static str {
        if matches!(self, Self::Owner | Self::Image | Self::Tag | Self::Digest) { "an" } else { "a" }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reference => "reference",
            Self::Path => "path",
            Self::Name => "template name",
            Self::Version => "version",
            Self::Owner => "owner",
            Self::Repository => "repository name",
            Self::GitRef => "git ref",
            Self::Host => "registry host",
            Self::Image => "image name",
            Self::Tag => "image tag",
            Self::Digest => "image digest",
        })
    }
}

impl Fault for ReferenceError {
    fn code(&self) -> Code {
        Code::ReferenceInvalid
    }

    fn hints(&self) -> Vec<String> {
        let hint = match &self.reason {
            Reason::NameAt { name, version } => format!("write `{name}:{version}`"),
            Reason::OtherHome { .. } => {
                "write the path out, or begin it with `~/` for your own home".to_owned()
            }
            Reason::Scheme { .. } => {
                "an image is written `docker://…`, `oci://…` or `acr://…`, a local directory `file:…`"
                    .to_owned()
            }
            Reason::Credentials => {
                "take out what is before the `@`; for GitHub set GITHUB_TOKEN or `abx config set github_token`, for \
                 a registry `docker login HOST`"
                    .to_owned()
            }
            Reason::Host { .. } => {
                "only repositories on GitHub are read; clone others and give the directory \
                                    (`./template`)"
                    .to_owned()
            }
            Reason::Shape { part: Part::Digest, .. } => {
                "a digest is `sha256:` and 64 lower-case hexadecimal digits".to_owned()
            }
            Reason::Shape { part: Part::Owner, text } if text.contains(['.', ':']) => {
                format!("an image of a registry is written `docker://{}`", self.text)
            }
            Reason::Component { .. } => {
                "a sub-directory is written without `.`, `..` and empty parts".to_owned()
            }
            Reason::Range { .. } => "ranges look like `^1`, `~1.2` or `>=1.2, <2`".to_owned(),
            _ => "a reference is a name (`python-base`, `python-base:1.0.0`), a directory (`./mine`), \
                  `owner/repo//sub@ref`, or an image (`docker://debian:bookworm-slim`)"
                .to_owned(),
        };
        vec![hint]
    }
}
