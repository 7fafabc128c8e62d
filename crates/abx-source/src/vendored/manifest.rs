//! The first member of a vendored file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use abx_image::tarball::{Kind, Reader};
use abx_image::{Digest, Origin};
use serde::{Deserialize, Serialize};

use super::VendoredError;
use crate::kept::{self, Kept};
use crate::{Lineage, Package};

/// The name of the first member.
pub(crate) const MANIFEST: &str = "abx-vendor.json";
/// The version that is written, and the newest that is read.
const FORMAT: u32 = 1;
/// Eight templates of a mebibyte at most, and what is beside them.
const MANIFEST_CAP: u64 = 16 << 20;

/// A vendored file, as its first member describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vendored {
    pub file: PathBuf,
    pub name: String,
    pub version: String,
    /// Of the image's OCI manifest in the file.
    pub image: Digest,
    /// Where the image's bottom came from.
    pub origin: Origin,
    /// Of the first member: stands for all that is used of the file.
    pub digest: Digest,
}

/// As it is written. Fields may come; what changes the meaning of others is another format.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u32,
    made_by: String,
    name: String,
    version: String,
    image: String,
    origin: Origin,
    packages: Vec<Kept>,
}

/// What every format has.
#[derive(Deserialize)]
struct Versioned {
    format: u32,
    #[serde(default)]
    made_by: String,
}

impl Manifest {
    pub(super) fn new(name: &str, version: &str, lineage: &Lineage, image: &Digest, origin: &Origin) -> Self {
        Self {
            format: FORMAT,
            made_by: concat!("abx ", env!("CARGO_PKG_VERSION")).to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
            image: image.to_string(),
            origin: origin.clone(),
            packages: lineage.packages.iter().map(Kept::from).collect(),
        }
    }
}

impl Vendored {
    /// Reads the first member, and the packages in it, root first. The rest of the file is not looked at.
    ///
    /// # Errors
    /// A newer format, a damaged file, a template that means nothing.
    pub(crate) fn read(path: &Path) -> Result<(Self, Vec<Package>), VendoredError> {
        let file = File::open(path).map_err(VendoredError::io("read", path))?;
        let mut reader = Reader::new(BufReader::new(file));
        let member = reader.next_entry().map_err(VendoredError::damaged)?;
        let is_manifest = |path: &[u8], kind: &Kind| path == MANIFEST.as_bytes() && *kind == Kind::File;
        let member = member.filter(|member| is_manifest(&member.path, &member.kind));
        let member = member.ok_or_else(|| VendoredError::damaged(format!("{MANIFEST} is missing")))?;
        if member.size > MANIFEST_CAP {
            return Err(VendoredError::damaged(format!("{MANIFEST} has more than {MANIFEST_CAP} bytes")));
        }
        let mut bytes = Vec::new();
        (&mut reader).take(member.size).read_to_end(&mut bytes).map_err(VendoredError::damaged)?;
        parse(path, &bytes)
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Result<(Vendored, Vec<Package>), VendoredError> {
    let unreadable = |error: serde_json::Error| VendoredError::damaged(format!("{MANIFEST}: {error}"));
    let versioned: Versioned = serde_json::from_slice(bytes).map_err(unreadable)?;
    if versioned.format > FORMAT {
        let made_by = match versioned.made_by.as_str() {
            "" => "a newer abx".to_owned(),
            made_by => made_by.chars().filter(|letter| !letter.is_control()).take(40).collect(),
        };
        return Err(VendoredError::Newer { format: versioned.format, known: FORMAT, made_by });
    }
    let manifest: Manifest = serde_json::from_slice(bytes).map_err(unreadable)?;
    let image = Digest::parse(&manifest.image)
        .ok_or_else(|| VendoredError::damaged(format!("{MANIFEST} names no image")))?;
    let mut packages = Vec::new();
    for kept in manifest.packages {
        let name = kept.name.clone();
        let template = |fault| VendoredError::Template { name, fault: Box::new(fault) };
        packages.push(kept::package(kept).map_err(template)?);
    }
    let Manifest { name, version, origin, .. } = manifest;
    let digest = Digest::of(bytes);
    Ok((Vendored { file: path.to_owned(), name, version, image, origin, digest }, packages))
}
