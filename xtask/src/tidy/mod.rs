//! `cargo xtask tidy`: the rules of the project that a program can check. The repository in, problems out.
//!
//! - [`crates`]: the table of crates in docs/architecture.md is whole, and nothing depends on a row below it,
//! - [`words`]: text that has no place in the repository: hosts of package registries, paths of one machine,
//!   placeholders in code,
//! - [`codes`]: an error code that is written down somewhere exists,
//! - [`size`]: files that have grown too long (a warning).

mod codes;
mod crates;
mod files;
mod size;
mod words;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::{tool, workspace};

/// Something that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Relative to the root of the workspace.
    pub(crate) file: PathBuf,
    /// From 1; 0 where it is about the file as a whole.
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file.display(), self.message),
            line => write!(f, "{}:{line}: {}", self.file.display(), self.message),
        }
    }
}

/// Checks everything and prints what it finds.
pub(crate) fn run() -> Result<(), Failure> {
    let root = workspace::root();
    for warning in size::check(&files::all(&root)?) {
        tool::say(&format!("warning: {warning}"));
    }
    let problems = check(&root)?;
    for problem in &problems {
        tool::say(&format!("error: {problem}"));
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::Problems(problems.len())) }
}

/// Every problem of the repository at `root`.
fn check(root: &Path) -> Result<Vec<Problem>, Failure> {
    let files = files::all(root)?;
    let mut problems = crates::check(root)?;
    problems.extend(words::check(&files));
    problems.extend(codes::check(root, &files)?);
    Ok(problems)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        let problems = super::check(&crate::workspace::root()).expect("the repository can be read");
        let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(list.is_empty(), "\n{}", list.join("\n"));
    }
}
