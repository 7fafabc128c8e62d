//! One template package.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use abx_core::fs::Staging;
use abx_core::{Home, Snippet};
use abx_spec::{Diagnostic, Place, Spec};

use crate::builtin::Builtin;
use crate::{SourceError, digest};

/// A template package: what its file says and where its other files are.
#[derive(Clone, Debug)]
pub struct Package {
    /// `metadata.name`.
    pub name: String,
    pub root: PackageRoot,
    pub spec: Spec,
    /// What is questionable in its file.
    pub warnings: Vec<Diagnostic>,
    /// How the user knows it: `./mine`, `python-base`.
    pub display: String,
    pub(crate) file_name: &'static str,
    pub(crate) text: String,
}

/// Where a package's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageRoot {
    /// Inside the program.
    Embedded(&'static Builtin),
    /// A directory, absolute and without links.
    Dir(PathBuf),
}

impl Package {
    /// The text of its `template.yaml`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A place in its file together with the line, for a later stage that fails because of it.
    pub fn snippet(&self, place: &Place) -> Snippet {
        let source = self.text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default();
        let column = place.column.max(1);
        let length = source.trim_end().chars().count().saturating_sub(column - 1).max(1);
        let (file, source) = (place.file.clone(), source.to_owned());
        Snippet { file, line: place.line, column, length, source, label: String::new() }
    }

    /// Identifies the content: `sha256:` and 64 digits. Reads every file that counts, see [`digest`].
    pub fn digest(&self) -> Result<String, SourceError> {
        match &self.root {
            PackageRoot::Embedded(builtin) => Ok(digest::of_builtin(builtin)),
            PackageRoot::Dir(root) => {
                let copies = self.spec.build.copy.iter().map(|copy| copy.value.src.as_path());
                digest::of_directory(root, copies).map_err(SourceError::io("read", root))
            }
        }
    }

    /// The package as a directory. A built-in one is laid down in the store first, once.
    pub fn path(&self, home: &Home) -> Result<PathBuf, SourceError> {
        match &self.root {
            PackageRoot::Dir(path) => Ok(path.clone()),
            PackageRoot::Embedded(builtin) => {
                let digest = digest::of_builtin(builtin);
                let target = home.store("packages").join(digest.trim_start_matches("sha256:"));
                if !target.is_dir() {
                    extract(builtin, home, &target).map_err(SourceError::io("write", &target))?;
                }
                Ok(target)
            }
        }
    }
}

fn extract(builtin: &Builtin, home: &Home, target: &Path) -> io::Result<()> {
    let staging = Staging::new(&home.store("staging"))?;
    let root = staging.path().join("package");
    for file in builtin.files {
        let path = root.join(file.path);
        std::fs::create_dir_all(path.parent().unwrap_or(&root))?;
        std::fs::write(&path, file.content)?;
        let mode = if file.executable { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode))?;
    }
    staging.publish("package", target)
}
