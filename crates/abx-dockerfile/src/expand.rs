//! Variables, quotes and escapes in a word, as a shell reads them.
//!
//! `$name`, `${name}`, `${name:-word}`, `${name-word}`, `${name:+word}`, `${name+word}`, `${name:?word}`,
//! `${name?word}`, `${name#pattern}`, `${name##pattern}`, `${name%pattern}`, `${name%%pattern}`,
//! `${name/pattern/word}` and `${name//pattern/word}`. A word in braces is expanded itself. Single quotes keep
//! everything as it is, double quotes all but `$` and the escape character.
//!
//! In reading order: `lexer` (what is asked), `reader`, `pattern` (what follows `#`, `%` and `/`), `error`.

mod error;
mod lexer;
mod pattern;
mod reader;

pub use error::ExpandError;
pub use lexer::{Expanded, Lexer};
