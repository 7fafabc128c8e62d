//! The files that are ours to keep tidy.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A text file of the repository.
pub(crate) struct SourceFile {
    /// Relative to the root of the workspace.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl SourceFile {
    /// Whether it is Rust code.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "rs")
    }
}

/// Where we look: folders, and single files at the top.
const PLACES: [&str; 12] = [
    "crates",
    "xtask",
    "docs",
    "templates",
    "tests",
    "benches",
    ".ci",
    ".cargo",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.toml",
];

/// Every text file under [`PLACES`], in order of path. Binary files are left out.
pub(crate) fn all(root: &Path) -> Result<Vec<SourceFile>, Failure> {
    let mut files = Vec::new();
    for place in PLACES {
        collect(root, &root.join(place), &mut files)?;
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(root: &Path, path: &Path, files: &mut Vec<SourceFile>) -> Result<(), Failure> {
    let Ok(meta) = path.symlink_metadata() else { return Ok(()) };
    if meta.is_dir() {
        for entry in path.read_dir().map_err(Failure::file(path))? {
            let entry = entry.map_err(Failure::file(path))?;
            if entry.file_name() != "target" {
                collect(root, &entry.path(), files)?;
            }
        }
    } else if meta.is_file() {
        let Ok(bytes) = std::fs::read(path) else { return Ok(()) };
        if let Ok(text) = String::from_utf8(bytes) {
            let path = path.strip_prefix(root).unwrap_or(path).to_owned();
            files.push(SourceFile { path, text });
        }
    }
    Ok(())
}
