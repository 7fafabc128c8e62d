//! One template package.

use std::path::PathBuf;

use abx_core::Snippet;
use abx_spec::{Bounds, Diagnostic, Invalid, Parsed, Place, Spec};

use crate::builtin::Builtin;
use crate::{SourceError, digest};

/// The script that checks a sandbox's health where the package's file says nothing of it.
pub const HEALTHCHECK: &str = "scripts/healthcheck.sh";

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
    /// Its file, as messages call it.
    pub(crate) file: String,
    pub(crate) text: String,
}

/// Where a package's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageRoot {
    /// Inside the program.
    Embedded(&'static Builtin),
    /// A directory, absolute and without links.
    Dir(PathBuf),
    /// In the image at the bottom of the lineage, [`BaseImage::Stored`](crate::BaseImage::Stored): its build
    /// steps were done when that was made, and are not done again.
    Stored {
        /// Whether [`HEALTHCHECK`] was among them.
        has_healthcheck: bool,
    },
}

impl Package {
    /// A package of which the file's text is at hand; the user knows it by `name`. What it asks for was within bounds
    /// when it was built or released; whether it still is, is seen when a sandbox is made of it.
    pub(crate) fn parse(name: &str, text: &str, root: PackageRoot) -> Result<Self, Invalid> {
        let file = format!("template.yaml of {name}");
        let Parsed { spec, warnings } = abx_spec::parse_within(text, &file, &Bounds::WIDEST)?;
        Ok(Self {
            name: spec.metadata.name.clone(),
            root,
            spec,
            warnings,
            display: name.to_owned(),
            file,
            text: text.to_owned(),
        })
    }

    /// The text of its `template.yaml`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name messages give its file: `./mine/template.yaml`, `template.yaml of python-base`.
    pub fn file(&self) -> &str {
        &self.file
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
        let copies = self.spec.build.copy.iter().map(|copy| copy.value.src.as_path());
        match &self.root {
            PackageRoot::Embedded(builtin) => Ok(digest::of_builtin(builtin, copies)),
            PackageRoot::Dir(root) => {
                digest::of_directory(root, copies).map_err(SourceError::io("read", root))
            }
            PackageRoot::Stored { .. } => Ok(digest::of_text(&self.text)),
        }
    }

    /// Whether [`HEALTHCHECK`] is among its files.
    pub fn has_healthcheck(&self) -> bool {
        match &self.root {
            PackageRoot::Embedded(builtin) => builtin.file(HEALTHCHECK).is_some(),
            PackageRoot::Dir(root) => root.join(HEALTHCHECK).is_file(),
            PackageRoot::Stored { has_healthcheck } => *has_healthcheck,
        }
    }
}
