//! An image as one tar file any container tool loads.
//!
//! ```text
//! oci-layout, index.json      an OCI image layout (skopeo oci-archive:, podman load, docker load ≥ 25)
//! manifest.json               docker's own form, naming the same blobs (docker load, skopeo docker-archive:)
//! blobs/sha256/<hex>          layers, configuration, manifest
//! ```
//!
//! The same image gives the same bytes.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use abx_core::fs::Staging;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::digest::Hashing;
use crate::oci::{self, Descriptor, ImageManifest, Index};
use crate::tarball::{Entry, Kind, Time, Writer};
use crate::{Digest, Image, ImageError, ImageStore, LayerId, Platform, RegistryName, pack};

/// The last second RFC 3339 can write.
const YEAR_9999_END: u64 = 253_402_300_799;

/// A little better than the fastest, for half the time of gzip's fastest.
const ZSTD_LEVEL: i32 = 3;

/// How layers are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// How to export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// Compress layers.
    pub gzip: bool,
}

/// What an export came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Digest of the manifest: what a registry would name it by.
    pub manifest: Digest,
    /// Digest of the configuration: docker's image id.
    pub config: Digest,
}

impl ImageStore {
    /// Writes the image to `target` under `names` (`base:1.0`, `host/team/base:1.0`; none is fine). One layer
    /// at a time is kept on disk beside the store while it is measured. Blocks.
    pub fn export_oci(
        &self,
        image: &Image,
        names: &[&str],
        options: ExportOptions,
        target: impl Write,
    ) -> Result<Exported, ImageError> {
        let names = names.iter().map(|name| RegistryName::parse(name)).collect::<Result<Vec<_>, _>>()?;
        let mut export = Export { archive: Writer::new(target), written: HashSet::new() };
        for directory in ["blobs/", "blobs/sha256/"] {
            export.member(directory, Kind::Directory, 0, io::empty())?;
        }
        let compression = if options.gzip { Compression::Gzip } else { Compression::None };
        let mut layers = Vec::new();
        let mut diff_ids = Vec::new();
        for layer in &image.layers {
            let spooled = self.spool(layer, compression)?;
            let descriptor = spooled.descriptor.clone();
            diff_ids.push(spooled.diff_id.clone());
            export.blob(&descriptor, spooled)?;
            layers.push(descriptor);
        }
        let documents = documents(&names, image, &layers, &diff_ids, &self.created(image)?);
        for (path, bytes) in documents.members {
            export.member(&path, Kind::File, bytes.len() as u64, &bytes[..])?;
        }
        export.archive.finish().and_then(|mut target| target.flush()).map_err(ImageError::export)?;
        Ok(Exported { manifest: documents.manifest, config: documents.config })
    }

    /// [`ImageStore::export_oci`] into a file, which is there whole or not at all.
    pub fn export_oci_file(
        &self,
        image: &Image,
        names: &[&str],
        options: ExportOptions,
        path: &Path,
    ) -> Result<Exported, ImageError> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mode: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        let made = tempfile::Builder::new().prefix(".abx-export-").permissions(mode).tempfile_in(parent);
        let mut file = made.map_err(ImageError::store("write", path))?;
        let exported =
            self.export_oci(image, names, options, BufWriter::with_capacity(1 << 18, &mut file))?;
        file.persist(path).map_err(|error| ImageError::store("write", path)(error.error))?;
        Ok(exported)
    }

    /// When the newest layer was made, in RFC 3339.
    pub(crate) fn created(&self, image: &Image) -> Result<String, ImageError> {
        let mut newest = 0;
        for layer in &image.layers {
            newest = newest.max(self.layer(layer)?.map_or(0, |record| record.created));
        }
        // What lies beyond cannot be written; only a damaged record says so.
        let newest = Duration::from_secs(self.no_later(newest).min(YEAR_9999_END));
        Ok(humantime::format_rfc3339_seconds(UNIX_EPOCH + newest).to_string())
    }

    /// Packs a layer into a file, to know its digest and size before it goes into the archive.
    pub(crate) fn spool(&self, layer: &LayerId, compression: Compression) -> Result<Spooled, ImageError> {
        if !self.has_layer(layer) {
            return Err(ImageError::NoLayer { id: layer.0.clone() });
        }
        let parent = self.home().store("staging");
        let staging = Staging::new(&parent).map_err(ImageError::store("make", &parent))?;
        let path = staging.path().join("blob");
        let at = || ImageError::store("write", &path);
        let file = File::options().create_new(true).read(true).write(true).open(&path).map_err(at())?;
        let mut target = Hashing::new(BufWriter::with_capacity(1 << 18, file));
        let source = self.layer_path(layer);
        let (media_type, diff_id) = match compression {
            Compression::None => (oci::LAYER, pack(&source, self.pack_options(), &mut target)?.diff_id),
            Compression::Gzip => {
                let mut encoder = GzEncoder::new(&mut target, flate2::Compression::default());
                let packed = pack(&source, self.pack_options(), &mut encoder)?;
                encoder.finish().map_err(at())?;
                (oci::LAYER_GZIP, packed.diff_id)
            }
            Compression::Zstd => {
                let encoder = zstd::stream::write::Encoder::new(&mut target, ZSTD_LEVEL);
                let mut encoder = encoder.map_err(at())?;
                let packed = pack(&source, self.pack_options(), &mut encoder)?;
                encoder.finish().map_err(at())?;
                (oci::LAYER_ZSTD, packed.diff_id)
            }
        };
        let (target, digest, size) = target.finish();
        let mut file = target.into_inner().map_err(|error| at()(error.into_error()))?;
        file.rewind().map_err(at())?;
        Ok(Spooled {
            descriptor: Descriptor::new(media_type, &digest, size),
            diff_id,
            file,
            _staging: staging,
        })
    }
}

/// A packed layer on disk; gone when dropped.
pub(crate) struct Spooled {
    pub(crate) descriptor: Descriptor,
    pub(crate) diff_id: Digest,
    file: File,
    _staging: Staging,
}

impl Read for Spooled {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

struct Export<W: Write> {
    archive: Writer<W>,
    /// Blobs that are in: an image may use a layer twice.
    written: HashSet<String>,
}

impl<W: Write> Export<W> {
    fn blob(&mut self, blob: &Descriptor, data: impl Read) -> Result<(), ImageError> {
        match self.written.insert(blob.digest.clone()) {
            true => self.member(&blob.path(), Kind::File, blob.size, data),
            false => Ok(()),
        }
    }

    fn member(&mut self, path: &str, kind: Kind, size: u64, data: impl Read) -> Result<(), ImageError> {
        self.archive.append(&entry(path, kind, size), data).map_err(ImageError::export)
    }
}

/// A member of nobody and no time.
pub(crate) fn entry(path: &str, kind: Kind, size: u64) -> Entry {
    Entry {
        path: path.as_bytes().to_vec(),
        mode: if kind == Kind::Directory { 0o755 } else { 0o644 },
        kind,
        uid: 0,
        gid: 0,
        mtime: Time::default(),
        size,
        xattrs: Vec::new(),
    }
}

/// Everything of a layout but its layers.
pub(crate) struct Documents {
    pub(crate) manifest: Digest,
    pub(crate) config: Digest,
    /// Paths and contents.
    pub(crate) members: Vec<(String, Vec<u8>)>,
}

/// The documents of an image under `names`, whose layers are packed as told; the image was made at `created`.
pub(crate) fn documents(
    names: &[RegistryName],
    image: &Image,
    layers: &[Descriptor],
    diff_ids: &[Digest],
    created: &str,
) -> Documents {
    let mut members = Vec::new();
    let mut document = |media_type: &str, bytes: Vec<u8>| {
        let descriptor = Descriptor::new(media_type, &Digest::of(&bytes), bytes.len() as u64);
        members.push((descriptor.path(), bytes));
        descriptor
    };
    let config = document(oci::CONFIG, oci::write_config(&image.config, diff_ids, created));
    let manifest = serde_json::to_vec(&ImageManifest::new(config.clone(), layers.to_vec()));
    let manifest = document(oci::MANIFEST, manifest.expect("a manifest is plain data"));
    let (index, docker) = indexes(names, image, &manifest, &config, layers);
    for (name, bytes) in [
        ("index.json", index),
        ("manifest.json", docker),
        ("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()),
    ] {
        members.push((name.to_owned(), bytes));
    }
    let digest = |descriptor: &Descriptor| descriptor.digest().expect("we made it");
    Documents { manifest: digest(&manifest), config: digest(&config), members }
}

/// What names the manifest, in OCI's form and in docker's.
fn indexes(
    names: &[RegistryName],
    image: &Image,
    manifest: &Descriptor,
    config: &Descriptor,
    layers: &[Descriptor],
) -> (Vec<u8>, Vec<u8>) {
    let architecture = image.config.architecture.clone();
    let platform = Platform { os: "linux".to_owned(), architecture, variant: None };
    let manifest = manifest.clone().for_platform(&platform);
    let named = |name: &RegistryName| {
        let named = manifest.clone().annotated("io.containerd.image.name", &name.to_string());
        named.annotated("org.opencontainers.image.ref.name", name.tag())
    };
    let entries = match names {
        [] => vec![manifest],
        names => names.iter().map(named).collect(),
    };
    let index = serde_json::to_vec(&Index::new(entries)).expect("an index is plain data");
    let docker = json!([{
        "Config": config.path(),
        "RepoTags": names.iter().map(RegistryName::familiar).collect::<Vec<_>>(),
        "Layers": layers.iter().map(Descriptor::path).collect::<Vec<_>>(),
    }]);
    (index, docker.to_string().into_bytes())
}

#[cfg(test)]
mod tests;
