//! Bare names: built-in, alias, local, catalog.

use std::fmt;

use crate::error::{Part, Reason};
use crate::selector::check_tag;
use crate::{ReferenceError, Selector};

/// The longest template name.
pub const NAME_LIMIT: usize = 100;

/// A template's name with an optional version behind a `:`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    name: String,
    selector: Selector,
}

impl Name {
    /// The name without the version.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version asked for; [`Selector::Latest`] where none was.
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// A name and one tag of it to the letter, as an image is given them: a range is a fault here.
    pub fn tagged(name: &str, tag: &str) -> Result<Self, ReferenceError> {
        let tagged = || {
            check_name(name)?;
            check_tag(tag, Part::Tag)?;
            Ok(Self { name: name.to_owned(), selector: Selector::parse(tag)? })
        };
        tagged().map_err(|reason| ReferenceError::new(&format!("{name}:{tag}"), reason))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Reason> {
        let (name, selector) = match text.split_once(':') {
            Some((name, selector)) => (name, Selector::parse(selector)?),
            None => (text, Selector::Latest),
        };
        if let Some((name, version)) = name.split_once('@')
            && check_name(name).is_ok()
        {
            return Err(Reason::NameAt { name: name.to_owned(), version: version.to_owned() });
        }
        check_name(name)?;
        Ok(Self { name: name.to_owned(), selector })
    }
}

/// Checks that `name` can name a template: letters, digits, `.`, `_`, `-`, the first a letter or digit.
pub fn check_name(name: &str) -> Result<(), Reason> {
    if name.is_empty() {
        return Err(Reason::Missing(Part::Name));
    }
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    if let Some(letter) = name.chars().find(|&letter| !allowed(letter)) {
        return Err(Reason::Letter { part: Part::Name, letter });
    }
    if !name.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return Err(Reason::Shape { part: Part::Name, text: name.to_owned() });
    }
    if name.len() > NAME_LIMIT {
        return Err(Reason::TooLong { part: Part::Name, limit: NAME_LIMIT });
    }
    Ok(())
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.selector {
            Selector::Latest => Ok(()),
            selector => write!(f, ":{selector}"),
        }
    }
}
