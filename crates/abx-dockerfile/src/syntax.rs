//! [`Source`](crate::Source) → [`Tree`]: instructions as they are written, not yet what they mean.
//!
//! In reading order: [`tree`] (the model), `parse` (the loop), `directive`, `line` (continued lines made
//! one), `node` (one instruction), `flag`, `json`, `words`, `heredoc`.

mod directive;
mod flag;
mod heredoc;
mod json;
mod line;
mod node;
mod parse;
pub mod tree;
mod words;

pub(crate) use heredoc::without_tabs;
pub(crate) use parse::parse;
pub use tree::{Body, Heredoc, Keyword, Node, Pair, Tree, Word};
