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

#[cfg(test)]
mod tests {
    use abx_core::Fault;
    use serde_json::{Value, json};

    use super::*;

    fn manifest(change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut value = json!({
            "format": 1,
            "made_by": "abx 0.1.0",
            "name": "web",
            "version": "1.0.0",
            "image": format!("sha256:{}", "a".repeat(64)),
            "origin": {"kind": "registry", "name": "debian", "digest": "sha256:b"},
            "packages": [{
                "name": "web",
                "text": "version: \"1\"\nmetadata: {name: web}\nbase: {image: debian}\n",
                "has_healthcheck": false,
            }],
        });
        change(&mut value);
        serde_json::to_vec(&value).expect("JSON")
    }

    fn outcome(bytes: &[u8]) -> String {
        match parse(Path::new("web.abx.tar"), bytes) {
            Ok((vendored, packages)) => format!("{} with {}", vendored.name, packages.len()),
            Err(error) => format!("{} {error}", error.code()),
        }
    }

    #[test]
    fn what_is_unknown_is_passed_over_and_what_is_wrong_refused() {
        assert_eq!(outcome(&manifest(|_| {})), "web with 1");
        assert_eq!(outcome(&manifest(|value| value["later"] = json!(1))), "web with 1");
        for (change, start) in [
            (("format", json!(2)), "E2004 it is of format 2, made by abx 0.1.0, and"),
            (("image", json!("sha256:../../x")), "E5020 it is damaged: abx-vendor.json names no image"),
            (("image", json!(1)), "E5020 it is damaged: abx-vendor.json: "),
            (
                ("packages", json!([{"name": "x", "text": "[", "has_healthcheck": false}])),
                "E2004 the template `x`",
            ),
        ] {
            let found = outcome(&manifest(|value| value[change.0] = change.1));
            assert!(found.starts_with(start), "{found}");
        }
        // What a newer one is like beyond that is its own affair.
        assert_eq!(
            outcome(br#"{"format": 9, "made_by": "abx 2.0\u001b[31m"}"#),
            "E2004 it is of format 9, made by abx 2.0[31m, and this version reads format 1"
        );
        assert!(outcome(b"<html>").starts_with("E5020 it is damaged: abx-vendor.json: "));
    }

    #[test]
    fn a_first_member_of_another_name_or_size_is_none() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("x.abx.tar");
        for (name, size) in [("other.json", 2), (MANIFEST, MANIFEST_CAP + 1)] {
            let mut header = tar::Header::new_ustar();
            header.set_path(name).expect("path");
            header.set_size(size);
            header.set_cksum();
            std::fs::write(&path, [header.as_bytes(), &b"{}"[..]].concat()).expect("write");
            let error = Vendored::read(&path).expect_err(name);
            assert_eq!(error.code().as_str(), "E5020", "{error}");
        }
    }
}
