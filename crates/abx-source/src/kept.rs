//! What is kept of a template beside the image it was built to: `store/lineages/<name>/<tag>.json`.
//!
//! An image says how to run a program, not what a sandbox is given, what it can do and how it is checked. So
//! the files of the whole lineage stay with a local template, and a sandbox or a child made of its image
//! inherits what they say.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use abx_core::Home;
use abx_core::fs::write_atomic;
use abx_reference::Name;
use abx_spec::Invalid;
use serde::{Deserialize, Serialize};

use crate::dockerfile::Declared;
use crate::{Lineage, Package, PackageRoot, SourceError};

/// One package of a lineage on disk.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) name: String,
    /// Of its `template.yaml`.
    text: String,
    has_healthcheck: bool,
    /// What its Dockerfile said.
    #[serde(default, skip_serializing_if = "Declared::is_empty")]
    declared: Declared,
    /// When the commit it was built of was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    committed: Option<i64>,
}

impl From<&Package> for Kept {
    fn from(package: &Package) -> Self {
        Self {
            name: package.name.clone(),
            text: package.text.clone(),
            has_healthcheck: package.has_healthcheck(),
            declared: package.declared.clone(),
            committed: package.committed,
        }
    }
}

/// Whether a local template can have this name and tag: neither is a range nor holds a `/`.
pub fn check_local_name(name: &str, tag: &str) -> Result<(), SourceError> {
    Name::tagged(name, tag)?;
    Ok(())
}

/// Keeps the files of a lineage for the image that is about to be called `name:tag`, in the place of an
/// older lineage of that name. To be called before the image gets the name: there is none without a lineage.
pub fn keep(home: &Home, name: &str, tag: &str, lineage: &Lineage) -> Result<(), SourceError> {
    check_local_name(name, tag)?;
    let packages: Vec<Kept> = lineage.packages.iter().map(Kept::from).collect();
    let path = path(home, name, tag);
    let bytes = serde_json::to_vec(&packages).map_err(io::Error::from);
    bytes.and_then(|bytes| write_atomic(&path, &bytes)).map_err(SourceError::io("write", &path))
}

/// The files of a lineage as one text: what is kept of a template beside its image, wherever that goes.
pub fn to_text(packages: &[Package]) -> String {
    let kept: Vec<Kept> = packages.iter().map(Kept::from).collect();
    serde_json::to_string(&kept).expect("packages are plain data")
}

/// The packages that [`to_text`] wrote down, as parts of an image.
pub fn from_text(text: &str) -> Result<Vec<Package>, Box<dyn Error + Send + Sync>> {
    parse(text.as_bytes())
}

/// The packages that are in the image called `name:tag`, root first.
pub fn packages(home: &Home, name: &str, tag: &str) -> Result<Vec<Package>, SourceError> {
    let path = path(home, name, tag);
    let bytes = match std::fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SourceError::NotKept { name: name.to_owned(), tag: tag.to_owned() });
        }
        bytes => bytes.map_err(SourceError::io("read", &path))?,
    };
    parse(&bytes).map_err(|source| SourceError::KeptDamaged {
        name: name.to_owned(),
        tag: tag.to_owned(),
        source,
    })
}

fn parse(bytes: &[u8]) -> Result<Vec<Package>, Box<dyn Error + Send + Sync>> {
    let kept = serde_json::from_slice::<Vec<Kept>>(bytes)?;
    kept.into_iter().map(|kept| Ok(package(kept)?)).collect()
}

/// The package that was kept: a part of an image.
pub(crate) fn package(kept: Kept) -> Result<Package, Invalid> {
    let root = PackageRoot::Stored { has_healthcheck: kept.has_healthcheck };
    let mut package = Package::parse(&kept.name, &kept.text, root)?;
    kept.declared.lay_under(&mut package.spec, &format!("Dockerfile of {}", package.name));
    package.declared = kept.declared;
    package.committed = kept.committed;
    Ok(package)
}

/// Names and tags have no letter that means something in a path.
fn path(home: &Home, name: &str, tag: &str) -> PathBuf {
    home.store("lineages").join(name).join(format!("{tag}.json"))
}
