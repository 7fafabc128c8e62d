//! The sum of all forms.

use std::borrow::Cow;
use std::fmt;

use crate::error::{Part, Reason, ReferenceError};
use crate::{Github, LocalPath, Name, Registry};

/// Where a template is to be found, as its text says.
///
/// `Display` is the canonical spelling; it parses back to an equal reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reference {
    /// A directory of this machine.
    Local(LocalPath),
    /// An image in a registry, used as it is.
    Registry(Registry),
    /// A built-in, an alias, a local template or one of the catalog, in that order.
    Name(Name),
    /// A directory in a repository.
    Github(Github),
}

impl Reference {
    /// Classifies and parses `text`.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        parse(text).map_err(|reason| ReferenceError::new(text, reason))
    }
}

fn parse(text: &str) -> Result<Reference, Reason> {
    if text.is_empty() {
        return Err(Reason::Empty);
    }
    if let Some(bad) = text.chars().find(|letter| letter.is_control()) {
        return Err(Reason::Letter { part: Part::Reference, letter: bad });
    }
    if let Some(path) = LocalPath::recognise(text)? {
        return Ok(Reference::Local(path));
    }
    if matches!(abx_core::without_credentials(text), Cow::Owned(_)) {
        return Err(Reason::Credentials);
    }
    if text.trim() != text {
        return Err(Reason::Letter { part: Part::Reference, letter: ' ' });
    }
    if let Some(registry) = Registry::recognise(text)? {
        return Ok(Reference::Registry(registry));
    }
    if let Some(github) = Github::recognise(text)? {
        return Ok(Reference::Github(github));
    }
    Name::parse(text).map(Reference::Name)
}

impl std::str::FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        Self::parse(text)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => path.fmt(f),
            Self::Registry(registry) => registry.fmt(f),
            Self::Name(name) => name.fmt(f),
            Self::Github(github) => github.fmt(f),
        }
    }
}
