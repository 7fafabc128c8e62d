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
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::digest::Hashing;
use crate::oci::{self, Descriptor, ImageManifest, Index};
use crate::tarball::{Entry, Kind, Time, Writer};
use crate::{Digest, Image, ImageError, ImageStore, LayerId, PackOptions, Platform, RegistryName, pack};

/// The last second RFC 3339 can write.
const YEAR_9999_END: u64 = 253_402_300_799;

/// How to export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// Compress layers.
    pub gzip: bool,
    pub pack: PackOptions,
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
        let mut layers = Vec::new();
        let mut diff_ids = Vec::new();
        for layer in &image.layers {
            let spooled = self.spool(layer, options)?;
            export.blob(&spooled.descriptor, spooled.file)?;
            layers.push(spooled.descriptor);
            diff_ids.push(spooled.diff_id);
        }
        let config = oci::write_config(&image.config, &diff_ids, &self.created(image)?);
        let config = export.document(oci::CONFIG, &config)?;
        let manifest = serde_json::to_vec(&ImageManifest::new(config.clone(), layers.clone()));
        let manifest = export.document(oci::MANIFEST, &manifest.expect("a manifest is plain data"))?;
        export.indexes(&names, image, &manifest, &config, &layers)?;
        export.archive.finish().and_then(|mut target| target.flush()).map_err(ImageError::export)?;
        let digest = |descriptor: &Descriptor| descriptor.digest().expect("we made it");
        Ok(Exported { manifest: digest(&manifest), config: digest(&config) })
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
    fn created(&self, image: &Image) -> Result<String, ImageError> {
        let mut newest = 0;
        for layer in &image.layers {
            newest = newest.max(self.layer(layer)?.map_or(0, |record| record.created));
        }
        // What lies beyond cannot be written; only a damaged record says so.
        let newest = Duration::from_secs(newest.min(YEAR_9999_END));
        Ok(humantime::format_rfc3339_seconds(UNIX_EPOCH + newest).to_string())
    }

    /// Packs a layer into a file, to know its digest and size before it goes into the archive.
    fn spool(&self, layer: &LayerId, options: ExportOptions) -> Result<Spooled, ImageError> {
        if !self.has_layer(layer) {
            return Err(ImageError::NoLayer { id: layer.0.clone() });
        }
        let parent = self.home().store("staging");
        let staging = Staging::new(&parent).map_err(ImageError::store("make", &parent))?;
        let path = staging.path().join("blob");
        let at = || ImageError::store("write", &path);
        let file = File::options().create_new(true).read(true).write(true).open(&path).map_err(at())?;
        let target = Hashing::new(BufWriter::with_capacity(1 << 18, file));
        let source = self.layer_path(layer);
        let (media_type, diff_id, target) = match options.gzip {
            true => {
                let mut encoder = GzEncoder::new(target, Compression::default());
                let packed = pack(&source, options.pack, &mut encoder)?;
                (oci::LAYER_GZIP, packed.diff_id, encoder.finish().map_err(at())?)
            }
            false => {
                let mut target = target;
                let packed = pack(&source, options.pack, &mut target)?;
                (oci::LAYER, packed.diff_id, target)
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
struct Spooled {
    descriptor: Descriptor,
    diff_id: Digest,
    file: File,
    _staging: Staging,
}

struct Export<W: Write> {
    archive: Writer<W>,
    /// Blobs that are in: an image may use a layer twice.
    written: HashSet<String>,
}

impl<W: Write> Export<W> {
    fn blob(&mut self, blob: &Descriptor, data: impl Read) -> Result<(), ImageError> {
        match self.written.insert(blob.digest.clone()) {
            true => self.member(&blob_path(blob), Kind::File, blob.size, data),
            false => Ok(()),
        }
    }

    fn document(&mut self, media_type: &str, bytes: &[u8]) -> Result<Descriptor, ImageError> {
        let descriptor = Descriptor::new(media_type, &Digest::of(bytes), bytes.len() as u64);
        self.blob(&descriptor, bytes)?;
        Ok(descriptor)
    }

    /// The three documents at the top.
    fn indexes(
        &mut self,
        names: &[RegistryName],
        image: &Image,
        manifest: &Descriptor,
        config: &Descriptor,
        layers: &[Descriptor],
    ) -> Result<(), ImageError> {
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
            "Config": blob_path(config),
            "RepoTags": names.iter().map(RegistryName::familiar).collect::<Vec<_>>(),
            "Layers": layers.iter().map(blob_path).collect::<Vec<_>>(),
        }]);
        for (name, text) in [
            ("index.json", index),
            ("manifest.json", docker.to_string().into_bytes()),
            ("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()),
        ] {
            self.member(name, Kind::File, text.len() as u64, &text[..])?;
        }
        Ok(())
    }

    fn member(&mut self, path: &str, kind: Kind, size: u64, data: impl Read) -> Result<(), ImageError> {
        let entry = Entry {
            path: path.as_bytes().to_vec(),
            mode: if kind == Kind::Directory { 0o755 } else { 0o644 },
            kind,
            uid: 0,
            gid: 0,
            mtime: Time::default(),
            size,
            xattrs: Vec::new(),
        };
        self.archive.append(&entry, data).map_err(ImageError::export)
    }
}

fn blob_path(blob: &Descriptor) -> String {
    blob.digest.replacen("sha256:", "blobs/sha256/", 1)
}

#[cfg(test)]
mod tests;
