//! A layer of the store, packed while it is sent.

use std::io::{self, Write};
use std::path::Path;

use abx_core::progress::Task;
use bytes::Bytes;
use flate2::Compression;
use tokio::sync::mpsc;

use super::endpoint::Endpoint;
use super::upload::{self, Begun, Upload};
use crate::digest::Hashing;
use crate::oci::{self, Descriptor};
use crate::pack::gzip::Gzip;
use crate::{Digest, ImageError, ImageStore, LayerId, PackOptions, pack};

/// What is sent at a time. A blob that is smaller goes in one piece.
const CHUNK: usize = 8 << 20;

/// What the next levels save in size costs more time than they save on the way.
const LEVEL: u32 = 3;

/// A layer that is in the repository now.
pub(super) struct Sent {
    pub(super) blob: Descriptor,
    pub(super) diff_id: Digest,
    /// Whether its blob was there before.
    pub(super) was_there: bool,
}

/// What comes from the thread that packs.
enum Piece {
    Chunk(Bytes),
    /// The last bytes, and what all of them are.
    Last {
        rest: Bytes,
        blob: Box<Descriptor>,
        diff_id: Digest,
    },
}

/// Packs, compresses and sends a layer. Memory holds a few chunks, the disk nothing.
pub(super) async fn send_layer(
    store: &ImageStore,
    layer: &LayerId,
    endpoint: &Endpoint,
    task: &Task<'_>,
) -> Result<Sent, ImageError> {
    let (sender, receiver) = mpsc::channel(1);
    let source = store.layer_path(layer);
    let options = store.pack_options();
    let packing = tokio::task::spawn_blocking(move || pack_in_pieces(&source, options, sender));
    // The receiver is gone afterwards, whatever the end: the packer then comes to its own.
    let sent = send(receiver, endpoint, task).await;
    let packed = packing.await.map_err(|_| ImageError::Interrupted)?;
    match sent? {
        Some(sent) => Ok(sent),
        None => Err(packed.err().unwrap_or(ImageError::Interrupted)),
    }
}

/// Sends what comes; `None` where it ends too early, which the packer can explain.
async fn send(
    mut pieces: mpsc::Receiver<Piece>,
    endpoint: &Endpoint,
    task: &Task<'_>,
) -> Result<Option<Sent>, ImageError> {
    let mut upload: Option<Upload<'_>> = None;
    while let Some(piece) = pieces.recv().await {
        match piece {
            Piece::Chunk(bytes) => {
                if upload.is_none() {
                    let Begun::Upload(begun) = upload::begin(endpoint, None).await? else { continue };
                    upload = Some(begun);
                }
                let Some(under_way) = &mut upload else { continue };
                if let Err(error) = under_way.chunk(&bytes).await {
                    abandon(upload).await;
                    return Err(error);
                }
                task.advance(bytes.len() as u64);
            }
            Piece::Last { rest, blob, diff_id } => {
                let digest = blob.digest().expect("we made it");
                let count = rest.len() as u64;
                let was_there = match upload {
                    Some(upload) => upload.finish(rest, &digest).await.map(|()| false)?,
                    None => upload::put(endpoint, &digest, rest).await?,
                };
                task.advance(count);
                return Ok(Some(Sent { blob: *blob, diff_id, was_there }));
            }
        }
    }
    abandon(upload).await;
    Ok(None)
}

async fn abandon(upload: Option<Upload<'_>>) {
    if let Some(upload) = upload {
        upload.abandon().await;
    }
}

/// On a thread that may block.
fn pack_in_pieces(layer: &Path, options: PackOptions, pieces: mpsc::Sender<Piece>) -> Result<(), ImageError> {
    let chunks = Chunks { buffer: Vec::with_capacity(CHUNK), pieces };
    let fault = |source| ImageError::Pack { path: layer.to_owned(), source: crate::PackFault::Write(source) };
    let mut gzip = Gzip::new(Hashing::new(chunks), Compression::new(LEVEL)).map_err(fault)?;
    let packed = pack(layer, options, &mut gzip)?;
    let (chunks, digest, size) = gzip.finish().map_err(fault)?.finish();
    let blob = Descriptor::new(oci::LAYER_GZIP, &digest, size);
    let last = Piece::Last { rest: chunks.buffer.into(), blob: Box::new(blob), diff_id: packed.diff_id };
    // Whoever is gone has an error of its own.
    let _ = chunks.pieces.blocking_send(last);
    Ok(())
}

/// Gathers what is written into chunks.
struct Chunks {
    buffer: Vec<u8>,
    pieces: mpsc::Sender<Piece>,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() == CHUNK {
            let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK));
            let sent = self.pieces.blocking_send(Piece::Chunk(full.into()));
            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        let count = bytes.len().min(CHUNK - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
