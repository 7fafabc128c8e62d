//! Writing a vendored file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use abx_core::Progress;
use abx_image::tarball::{Entry, Kind, Time, Writer};
use abx_image::{Digest, Image, ImageStore};

use super::manifest::{MANIFEST, Manifest};
use super::{Vendored, VendoredError};
use crate::dockerfile::reach;
use crate::{Lineage, Package, PackageRoot, digest};

/// What goes into the file.
#[derive(Debug)]
pub struct VendorRequest<'a> {
    pub name: &'a str,
    pub version: &'a str,
    pub lineage: &'a Lineage,
    /// What the lineage was built to.
    pub image: &'a Image,
    /// The text of its `template.lock`.
    pub lock: Option<&'a str>,
}

/// Writes the file, which is there whole or not at all. The layers are packed beside the store first. Blocks.
pub fn write(
    request: &VendorRequest<'_>,
    store: &ImageStore,
    path: &Path,
    progress: &dyn Progress,
) -> Result<Vendored, VendoredError> {
    let VendorRequest { name, version, lineage, image, .. } = *request;
    let layout = store.layout(image, &[&format!("{name}:{}", tag(version))], progress)?;
    let manifest = Manifest::new(name, version, lineage, layout.manifest(), &image.origin);
    let manifest = serde_json::to_vec_pretty(&manifest)
        .map_err(|error| VendoredError::io("write", path)(error.into()))?;
    let vendored = Vendored {
        file: path.to_owned(),
        name: name.to_owned(),
        version: version.to_owned(),
        image: layout.manifest().clone(),
        origin: image.origin.clone(),
        digest: Digest::of(&manifest),
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = (|| {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".abx-vendor-").permissions(std::fs::Permissions::from_mode(0o644));
        let mut file = builder.tempfile_in(parent)?;
        let mut archive = Writer::new(BufWriter::with_capacity(1 << 18, &mut file));
        member(&mut archive, MANIFEST.as_bytes(), false, manifest.len() as u64, &manifest[..])?;
        if let Some(lock) = request.lock {
            member(&mut archive, b"template.lock", false, lock.len() as u64, lock.as_bytes())?;
        }
        for (index, package) in lineage.packages.iter().enumerate() {
            package_files(&mut archive, &format!("packages/{index}-{}", package.name), package)?;
        }
        layout.write(&mut archive)?;
        archive.finish()?.flush()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    })();
    written.map_err(VendoredError::io("write", path))?;
    Ok(vendored)
}

/// What is no tag of an image can be a version.
fn tag(version: &str) -> String {
    version.replace('+', "-")
}

/// The files of a package that have a say in its image, and those that are for people.
fn package_files(archive: &mut Writer<impl Write>, folder: &str, package: &Package) -> io::Result<()> {
    let path = |file: &Path| [folder.as_bytes(), b"/", file.as_os_str().as_bytes()].concat();
    match &package.root {
        PackageRoot::Embedded(builtin) => {
            for file in builtin.files {
                let size = file.content.len() as u64;
                member(archive, &path(Path::new(file.path)), file.executable, size, file.content)?;
            }
        }
        PackageRoot::Stored { .. } => {
            let text = package.text().as_bytes();
            member(archive, &path(Path::new("template.yaml")), false, text.len() as u64, text)?;
        }
        PackageRoot::Dir(root) => {
            let copies = package.spec.build.copy.iter().map(|copy| copy.value.src.as_path());
            let people = for_people(root)?;
            let parts = copies.chain(people.iter().map(PathBuf::as_path));
            let mut files = digest::files(root, parts)?;
            if let Some(dockerfile) = package.dockerfile.as_deref() {
                files.append(&mut reach::files(root, dockerfile)?);
            }
            for file in files {
                let full = root.join(&file);
                let metadata = full.symlink_metadata()?;
                if metadata.is_symlink() {
                    let target = std::fs::read_link(&full)?.as_os_str().as_bytes().to_vec();
                    archive.append(&entry(&path(&file), Kind::Symlink(target), 0o777, 0), io::empty())?;
                } else if metadata.is_file() {
                    let source = File::open(&full)?;
                    let is_executable = digest::is_executable(&metadata);
                    member(archive, &path(&file), is_executable, metadata.len(), source)?;
                }
            }
        }
    }
    Ok(())
}

/// Files at the top of a package that say something to whoever reads it.
fn for_people(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(root)? {
        let name = entry?.file_name();
        let text = name.to_string_lossy().to_ascii_uppercase();
        if ["README", "LICENSE", "LICENCE", "AGENTS.MD"].iter().any(|start| text.starts_with(start)) {
            found.insert(name.clone(), PathBuf::from(name));
        }
    }
    Ok(found.into_values().collect())
}

fn member(
    archive: &mut Writer<impl Write>,
    path: &[u8],
    is_executable: bool,
    size: u64,
    data: impl Read,
) -> io::Result<()> {
    archive.append(&entry(path, Kind::File, if is_executable { 0o755 } else { 0o644 }, size), data)
}

/// A member of nobody and no time.
fn entry(path: &[u8], kind: Kind, mode: u32, size: u64) -> Entry {
    let (path, mtime) = (path.to_vec(), Time::default());
    Entry { path, kind, mode, uid: 0, gid: 0, mtime, size, xattrs: Vec::new() }
}
