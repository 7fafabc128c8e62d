//! An image as the members of an archive, to be written among others.

use std::io::{self, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use abx_core::Progress;
use abx_core::progress::{Unit, start};

use crate::export::{Compression, Spooled, documents, entry};
use crate::tarball::{Kind, Writer};
use crate::{Digest, Image, ImageError, ImageStore, LayerId, RegistryName};

/// Layers packed at a time.
const PARALLEL: usize = 4;

/// An OCI image layout whose layers are packed and measured, on disk beside the store.
pub struct Layout {
    manifest: Digest,
    /// The documents first, then layers, bottom first, each once.
    members: Vec<Member>,
}

struct Member {
    path: String,
    size: u64,
    content: Content,
}

enum Content {
    Bytes(Vec<u8>),
    Layer(Box<Spooled>),
}

impl ImageStore {
    /// Packs an image's layers, compressed with zstd, several at a time. The same image gives the same layout.
    /// Blocks.
    pub fn layout(
        &self,
        image: &Image,
        names: &[&str],
        progress: &dyn Progress,
    ) -> Result<Layout, ImageError> {
        let names = names.iter().map(|name| RegistryName::parse(name)).collect::<Result<Vec<_>, _>>()?;
        let task = start(progress, "packing layers", Some(image.layers.len() as u64), Unit::Items);
        let layers = self.spool_all(&image.layers, &|| task.advance(1))?;
        let descriptors: Vec<_> = layers.iter().map(|layer| layer.descriptor.clone()).collect();
        let diff_ids: Vec<_> = layers.iter().map(|layer| layer.diff_id.clone()).collect();
        let documents = documents(&names, image, &descriptors, &diff_ids, &self.created(image)?);
        let bytes = |(path, bytes): (String, Vec<u8>)| Member {
            path,
            size: bytes.len() as u64,
            content: Content::Bytes(bytes),
        };
        let mut members: Vec<Member> = documents.members.into_iter().map(bytes).collect();
        for layer in layers {
            let (path, size) = (layer.descriptor.path(), layer.descriptor.size);
            if !members.iter().any(|member| member.path == path) {
                members.push(Member { path, size, content: Content::Layer(Box::new(layer)) });
            }
        }
        Ok(Layout { manifest: documents.manifest, members })
    }

    fn spool_all(&self, layers: &[LayerId], done: &(dyn Fn() + Sync)) -> Result<Vec<Spooled>, ImageError> {
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Option<Result<Spooled, ImageError>>>> =
            layers.iter().map(|_| Mutex::new(None)).collect();
        let work = || {
            while let Some((layer, result)) = {
                let index = next.fetch_add(1, Ordering::Relaxed);
                layers.get(index).zip(results.get(index))
            } {
                let spooled = self.spool(layer, Compression::Zstd);
                if spooled.is_err() {
                    next.store(layers.len(), Ordering::Relaxed);
                }
                done();
                *result.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(spooled);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..PARALLEL.min(layers.len()) {
                scope.spawn(work);
            }
        });
        let results =
            results.into_iter().map(|result| result.into_inner().unwrap_or_else(|error| error.into_inner()));
        // Those behind a failed one may be missing.
        let mut spooled = Vec::with_capacity(layers.len());
        let mut failed = None;
        for result in results.flatten() {
            match result {
                Ok(layer) => spooled.push(layer),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(spooled), Err)
    }
}

impl Layout {
    /// What the image is named by, whoever loads it.
    pub fn manifest(&self) -> &Digest {
        &self.manifest
    }

    /// Appends every member to an archive.
    pub fn write<W: Write>(self, archive: &mut Writer<W>) -> io::Result<()> {
        for member in self.members {
            let data: Box<dyn Read> = match member.content {
                Content::Bytes(bytes) => Box::new(io::Cursor::new(bytes)),
                Content::Layer(layer) => layer,
            };
            archive.append(&entry(&member.path, Kind::File, member.size), data)?;
        }
        Ok(())
    }
}
