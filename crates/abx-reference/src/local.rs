//! Directories of this machine.

use std::fmt;

use crate::error::{Part, Reason};

/// A path as the user wrote it; `~` is not yet expanded and nothing is known to exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalPath {
    path: String,
}

impl LocalPath {
    /// The path as written, without `file:`.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// Whether it starts at the directory in use (or of the file it stands in), rather than at the root or
    /// the home directory.
    pub fn is_relative(&self) -> bool {
        !self.path.starts_with('/') && self.path != "~" && !self.path.starts_with("~/")
    }

    /// The part after `~/` where the path starts at the home directory.
    pub fn below_home(&self) -> Option<&str> {
        if self.path == "~" { Some("") } else { self.path.strip_prefix("~/") }
    }

    /// `None` where the text has another form.
    pub(crate) fn recognise(text: &str) -> Result<Option<Self>, Reason> {
        if let Some(rest) = text.strip_prefix("file:") {
            let path = rest.strip_prefix("//").unwrap_or(rest);
            return match path {
                "" => Err(Reason::Missing(Part::Path)),
                path => Ok(Some(Self { path: path.to_owned() })),
            };
        }
        if looks_local(text) {
            return Ok(Some(Self { path: text.to_owned() }));
        }
        if text.starts_with('~') {
            return Err(Reason::OtherHome { text: text.to_owned() });
        }
        Ok(None)
    }
}

fn looks_local(text: &str) -> bool {
    matches!(text, "." | ".." | "~") || ["./", "../", "/", "~/"].iter().any(|prefix| text.starts_with(prefix))
}

impl fmt::Display for LocalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !looks_local(&self.path) {
            f.write_str("file:")?;
        } else if self.path.starts_with("//") {
            f.write_str("file://")?;
        }
        f.write_str(&self.path)
    }
}
