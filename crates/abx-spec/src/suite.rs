//! Text of a `tests/*.yaml` in, [`Suite`] out: what a template's author promises of a sandbox.
//!
//! ```yaml
//! sandbox: {network: none}
//! tests:
//!   - name: it greets
//!     run: ./hello
//!     stdout: "hello from me"
//!   - name: its programs
//!     programs: {python: "3.11", git: ">=2.39"}
//! ```
//!
//! A test has one verb, the key that says what is looked at, and what else belongs to that verb. In reading order:
//! [`model`], [`expect`] (what a text must be), [`range`](mod@range) (what a version must be), [`problem`].
//!
//! Read as strictly as a template is: a test that is misspelt must not pass.

pub mod expect;
pub mod model;
pub mod problem;
pub mod range;

pub use expect::{Expect, holds};
pub use model::{
    CallCheck, Check, CodeCheck, Command, FileCheck, FileKind, HttpWish, ImageCheck, Manager, PackageWish,
    PortCheck, ProgramWish, RunCheck, Suite, Test, Wishes,
};
pub use problem::SuiteProblem;
pub use range::Range;

use crate::diagnostic::Invalid;
use crate::limits::FILE_BYTES;
use crate::problem::Problem;
use crate::read::{self, Reader};
use crate::yaml;

/// Parses the text of a file of tests; `file` is its name as the user knows it. Never panics, whatever the text.
///
/// # Errors
/// Every fault of the file at once.
pub fn parse(text: &str, file: &str) -> Result<Suite, Invalid> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::new(text, file);
    let suite = if text.len() > FILE_BYTES {
        let start = yaml::Span { line: 1, column: 1, length: 1 };
        reader.fault(Problem::TooLarge { limit: FILE_BYTES }, start);
        Suite::default()
    } else {
        let (root, found) = yaml::load(text);
        read::read_suite(&mut reader, root.as_ref(), found)
    };
    match Invalid::new(reader.finish().0) {
        Some(invalid) => Err(invalid),
        None => Ok(suite),
    }
}
