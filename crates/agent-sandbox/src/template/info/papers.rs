//! What a package has for its readers: `AGENTS.md` and `examples/`, which are not in the image.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use abx_source::{Package, PackageRoot};
use serde::Serialize;

const AGENTS: &str = "AGENTS.md";
const EXAMPLES: &str = "examples";

/// As much of a file is shown.
const TEXT_CAP: u64 = 256 << 10;
/// So many examples are listed, this deep.
const EXAMPLES_CAP: usize = 200;
const DEPTH: usize = 4;

/// The papers of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Papers {
    /// The text of `AGENTS.md`.
    pub agents_md: Option<String>,
    pub examples: Vec<Example>,
}

/// A file below `examples/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// Relative to the package.
    pub path: String,
    /// Bytes.
    pub size: u64,
}

impl Papers {
    pub(super) fn of(package: &Package) -> Self {
        match &package.root {
            PackageRoot::Embedded(builtin) => {
                let agents =
                    builtin.file(AGENTS).map(|file| String::from_utf8_lossy(file.content).into_owned());
                let examples = builtin.files.iter().filter(|file| Path::new(file.path).starts_with(EXAMPLES));
                let example = |file: &abx_source::EmbeddedFile| Example {
                    path: file.path.to_owned(),
                    size: file.content.len() as u64,
                };
                Self { agents_md: agents, examples: examples.map(example).collect() }
            }
            PackageRoot::Dir(root) => Self { agents_md: text(root), examples: examples(root) },
            PackageRoot::Stored { .. } => Self::default(),
        }
    }
}

/// Somebody else's package may have anything of that name; only a file's text counts.
fn text(root: &Path) -> Option<String> {
    let path = root.join(AGENTS);
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(TEXT_CAP).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn examples(root: &Path) -> Vec<Example> {
    let folder = root.join(EXAMPLES);
    let entries = walkdir::WalkDir::new(folder).min_depth(1).max_depth(DEPTH).sort_by_file_name();
    let files = entries.into_iter().flatten().filter(|entry| entry.file_type().is_file());
    let example = |entry: walkdir::DirEntry| {
        let path = entry.path().strip_prefix(root).ok()?.display().to_string();
        Some(Example { path, size: entry.metadata().map_or(0, |metadata| metadata.len()) })
    };
    files.filter_map(example).take(EXAMPLES_CAP).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_count_and_links_do_not() {
        let root = tempfile::tempdir().expect("tempdir");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
            std::fs::write(path, text).expect("write");
        };
        write("examples/b/two.py", "22");
        write("examples/one.sh", "1");
        write("secret", "s");
        std::os::unix::fs::symlink("../secret", root.path().join("examples/link")).expect("link");
        std::os::unix::fs::symlink("secret", root.path().join(AGENTS)).expect("link");
        assert_eq!(text(root.path()), None);
        let found: Vec<_> = examples(root.path()).into_iter().map(|file| (file.path, file.size)).collect();
        assert_eq!(found, [("examples/b/two.py".to_owned(), 2), ("examples/one.sh".to_owned(), 1)]);
    }
}
