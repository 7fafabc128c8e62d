//! Text of an index in, [`Index`] out: a catalog of templates as somebody publishes it.
//!
//! ```yaml
//! schema_version: 1
//! templates:
//!   - name: my-agent
//!     repo: owner/repo
//!     path: templates/my-agent
//!     ref: v1.0
//!     description: "What it is for"
//!     tags: [agent, python]
//!     status: community
//! ```
//!
//! Keys that are not known here are for a later reader, and mean nothing. All else is read as strictly as a template
//! is, since an entry names what will run.

use abx_reference::Github;

use crate::diagnostic::Invalid;
use crate::limits::{INDEX_BYTES, INDEX_NODES};
use crate::problem::Problem;
use crate::read::{self, Reader};
use crate::spec::Place;
use crate::yaml;

/// The schema that is read here.
pub const SCHEMA: u64 = 1;

/// The templates somebody has listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// In the order of the file; no two have the same name, whichever case it is in.
    pub listings: Vec<Listing>,
}

/// One template of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    pub name: String,
    /// `repo`, `path` and `ref` together.
    pub github: Github,
    pub description: Option<String>,
    pub tags: Vec<String>,
    pub triggers: Vec<String>,
    pub category: Option<String>,
    pub author: Option<String>,
    pub capabilities: Vec<String>,
    pub status: Status,
    /// Where it begins.
    pub place: Place,
}

/// Who answers for a template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status {
    Official,
    #[default]
    Community,
    Experimental,
}

impl Status {
    /// The words for them.
    pub const WORDS: &'static [&'static str] = &["official", "community", "experimental"];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Official => "official",
            Self::Community => "community",
            Self::Experimental => "experimental",
        }
    }

    pub(crate) fn of(word: &str) -> Self {
        match word {
            "official" => Self::Official,
            "experimental" => Self::Experimental,
            _ => Self::Community,
        }
    }
}

/// What can be wrong with an index, beside what can be with every file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexProblem {
    #[error("an index is a map with the list `templates`, not {found}")]
    NotIndex { found: &'static str },
    #[error("this index has schema version {found}, and needs a newer abx")]
    NewerSchema { found: i64 },
    #[error("schema version {found} is not known here")]
    UnknownSchema { found: i64 },
    #[error("the template `{name}` is there twice, first in line {first_line}")]
    NameTwice { name: String, first_line: usize },
    #[error("`repo` is a repository on GitHub, and `{text}` is none")]
    NoRepository { text: String },
    #[error("`repo` is a repository alone, and `{text}` has more")]
    MoreThanRepository { text: String },
}

impl IndexProblem {
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotIndex { .. } => {
                "the least is `templates: []`; an entry has `name` and `repo`".to_owned()
            }
            Self::NewerSchema { .. } => format!("this abx reads schema version {SCHEMA}; update it"),
            Self::UnknownSchema { .. } => format!("write `schema_version: {SCHEMA}`"),
            Self::NameTwice { .. } => "names differ by more than the case of their letters".to_owned(),
            Self::NoRepository { .. } => "write `owner/repo` or `https://github.com/owner/repo`".to_owned(),
            Self::MoreThanRepository { .. } => {
                "the directory goes to `path`, the branch, tag or commit to `ref`".to_owned()
            }
        })
    }
}

/// Parses the text of an index; `file` is its name as the user knows it. Never panics, whatever the text.
///
/// # Errors
/// Every fault of the file at once.
pub fn parse(text: &str, file: &str) -> Result<Index, Invalid> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::new(text, file);
    let index = if text.len() > INDEX_BYTES {
        let start = yaml::Span { line: 1, column: 1, length: 1 };
        reader.fault(Problem::TooLarge { limit: INDEX_BYTES }, start);
        Index::default()
    } else {
        let (root, found) = yaml::load_up_to(text, INDEX_NODES);
        read::read_index(&mut reader, root.as_ref(), found)
    };
    match Invalid::new(reader.finish().0) {
        Some(invalid) => Err(invalid),
        None => Ok(index),
    }
}
