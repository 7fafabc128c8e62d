//! One template package.

use std::path::PathBuf;

use abx_core::Snippet;
use abx_spec::{Bounds, Diagnostic, Invalid, Parsed, Place, Spec};

use crate::builtin::Builtin;
use crate::dockerfile::said;
use crate::dockerfile::{Declared, Dockerfile, Said, reach};
use crate::{SourceError, digest};

/// The script that checks a sandbox's health where the package's file says nothing of it.
pub const HEALTHCHECK: &str = "scripts/healthcheck.sh";

/// A template package: what its file says and where its other files are.
#[derive(Clone, Debug)]
pub struct Package {
    /// `metadata.name`.
    pub name: String,
    pub root: PackageRoot,
    /// What its file says, and what its Dockerfile says beside that.
    pub spec: Spec,
    /// The Dockerfile that defines its image; `None` where that is built, or there is none.
    pub dockerfile: Option<Box<Dockerfile>>,
    /// What of `spec` a Dockerfile said.
    pub(crate) declared: Declared,
    /// What is questionable in its file.
    pub warnings: Vec<Diagnostic>,
    /// When the commit it is of was made, in seconds since 1970: nothing it brings along counts as newer.
    pub committed: Option<i64>,
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
            dockerfile: None,
            declared: Declared::default(),
            warnings,
            committed: None,
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

    /// A place in its file, or its Dockerfile, together with the line, for a later stage that fails because of it.
    pub fn snippet(&self, place: &Place) -> Snippet {
        if let Some(dockerfile) = self.dockerfile.as_deref().filter(|it| it.display() == place.file) {
            return dockerfile.snippet(place);
        }
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
                let reach = self.dockerfile.as_deref().map(|dockerfile| reach::files(root, dockerfile));
                let digest = reach
                    .transpose()
                    .and_then(|reach| digest::of_directory(root, copies, reach.unwrap_or_default()));
                digest.map_err(SourceError::io("read", root))
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

    /// Gives it the Dockerfile that defines its image, with what that says as far as it is known without a build.
    pub(crate) fn defined_by(&mut self, mut dockerfile: Dockerfile) {
        dockerfile.stated = std::mem::take(&mut self.spec);
        let (said, spots) = said::said(&dockerfile);
        self.declared = Declared::new(&said, &spots);
        self.dockerfile = Some(Box::new(dockerfile));
        self.settle();
    }

    /// Takes over what its Dockerfile turned out to say of the image that was built of it.
    pub fn said(&mut self, said: &Said) {
        if let Some(dockerfile) = self.dockerfile.as_deref() {
            self.declared = Declared::new(said, &said::said(dockerfile).1);
            self.settle();
        }
    }

    fn settle(&mut self) {
        let Some(dockerfile) = self.dockerfile.as_deref() else { return };
        let mut spec = dockerfile.stated.clone();
        self.declared.lay_under(&mut spec, dockerfile.display());
        let from = dockerfile.from();
        let place = Place { file: from.file, line: from.line, column: from.column };
        spec.base = dockerfile.origin.base(place);
        self.spec = spec;
    }

    /// Where a Dockerfile makes a setting of this template; a port by its number.
    pub fn declared_at(&self, key: &str, item: Option<u64>) -> Option<Place> {
        let kept = || format!("Dockerfile of {}", self.name);
        let file = self.dockerfile.as_deref().map_or_else(kept, |it| it.display().to_owned());
        self.declared.place(key, item, &file)
    }
}
