//! One layer from the registry into the store.

use std::io::{self, Read};

use abx_core::progress::Task;
use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::CONTENT_RANGE;
use tokio::sync::mpsc;

use super::ask::pause;
use super::endpoint::Endpoint;
use super::partial::Partial;
use crate::digest::Hashing;
use crate::oci::Descriptor;
use crate::store::StagedLayer;
use crate::{Digest, ImageError, ImageStore, LayerFault, Unpacked, unpack};

/// A transfer that broke is taken up again so many times.
const RESUMES: u32 = 5;

/// Chunks on their way to the unpacker: what bounds memory.
const IN_FLIGHT: usize = 16;

/// Fetches a layer and unpacks it while it comes. The files of the staged layer count: both the blob and what it
/// unpacked to have the right digest.
///
/// Where an earlier attempt has left the beginning of the blob, it goes on from there; and it leaves its own.
pub(super) async fn fetch_layer(
    store: &ImageStore,
    endpoint: &Endpoint,
    blob: &Descriptor,
    diff_id: &Digest,
    task: &Task<'_>,
) -> Result<(StagedLayer, Unpacked), ImageError> {
    let open = || blob.digest().and_then(|digest| Partial::open(store, blob, &digest));
    let partial = open();
    let is_resumed = partial.as_ref().is_some_and(|partial| partial.length() > 0);
    match attempt(store, endpoint, blob, diff_id, partial, task).await {
        // What was kept may be the fault of it, and is gone now.
        Err(ImageError::Digest { .. } | ImageError::Layer { .. }) if is_resumed => {
            attempt(store, endpoint, blob, diff_id, open(), task).await
        }
        result => result,
    }
}

async fn attempt(
    store: &ImageStore,
    endpoint: &Endpoint,
    blob: &Descriptor,
    diff_id: &Digest,
    partial: Option<Partial>,
    task: &Task<'_>,
) -> Result<(StagedLayer, Unpacked), ImageError> {
    let staged = store.begin_layer()?;
    let (sender, receiver) = mpsc::channel(IN_FLIGHT);
    let expected = blob.clone();
    let begin = partial.as_ref().map_or(0, Partial::length);
    let unpacking = tokio::task::spawn_blocking(move || {
        let unpacked = unpack_checked(receiver, partial, &expected, &staged)?;
        Ok::<_, ImageError>((staged, unpacked))
    });
    // The sender is dropped at the end, whatever the end: the unpacker then comes to its own.
    task.advance(begin);
    let sent = send(endpoint, blob, begin, sender, task).await;
    let unpacked = unpacking.await.map_err(|_| ImageError::Interrupted)?;
    let (staged, unpacked) = match (sent, unpacked) {
        (Err(error), _) => return Err(error),
        (Ok(()), unpacked) => unpacked?,
    };
    if unpacked.diff_id != *diff_id {
        let subject = format!("layer {}, unpacked,", blob.digest);
        let (expected, found) = (diff_id.to_string(), unpacked.diff_id.to_string());
        return Err(ImageError::Digest { subject, expected, found });
    }
    Ok((staged, unpacked))
}

/// Sends the blob's bytes, taking broken transfers up where they broke. Ends early, without an error, where
/// the receiver is gone: it knows why.
async fn send(
    endpoint: &Endpoint,
    blob: &Descriptor,
    begin: u64,
    sender: mpsc::Sender<Bytes>,
    task: &Task<'_>,
) -> Result<(), ImageError> {
    let mut sent = begin;
    let mut attempt = 0;
    loop {
        match send_from(endpoint, blob, &mut sent, &sender, task).await {
            Err(error) if error.is_passing() && attempt < RESUMES => {
                attempt += 1;
                pause(attempt).await;
            }
            result => return result,
        }
    }
}

/// One request for the bytes from `sent` on.
async fn send_from(
    endpoint: &Endpoint,
    blob: &Descriptor,
    sent: &mut u64,
    sender: &mpsc::Sender<Bytes>,
    task: &Task<'_>,
) -> Result<(), ImageError> {
    let path = format!("blobs/{}", blob.digest);
    let mut response = endpoint.open(&path, *sent).await?;
    // A server that does not know ranges begins at the beginning.
    let mut repeated = match response.status() {
        StatusCode::PARTIAL_CONTENT if starts_at(&response, *sent) => 0,
        StatusCode::PARTIAL_CONTENT => return Err(broken_off(endpoint, blob)),
        _ => *sent,
    };
    if let Some(length) = response.content_length() {
        check_size(blob, *sent - repeated + length)?;
    }
    while let Some(mut chunk) = response.chunk().await.map_err(|error| endpoint.broken(&path, error))? {
        let skipped = repeated.min(chunk.len() as u64);
        repeated -= skipped;
        let _ = chunk.split_to(skipped as usize);
        *sent += chunk.len() as u64;
        if *sent > blob.size {
            return check_size(blob, *sent);
        }
        task.advance(chunk.len() as u64);
        if sender.send(chunk).await.is_err() {
            return Ok(());
        }
    }
    match *sent < blob.size {
        true => Err(broken_off(endpoint, blob)),
        false => Ok(()),
    }
}

fn starts_at(response: &reqwest::Response, from: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {from}-")))
}

fn broken_off(endpoint: &Endpoint, blob: &Descriptor) -> ImageError {
    ImageError::Transfer {
        subject: format!("blobs/{}", blob.digest),
        host: endpoint.host().to_owned(),
        source: None,
    }
}

fn check_size(blob: &Descriptor, found: u64) -> Result<(), ImageError> {
    match found == blob.size {
        true => Ok(()),
        false => Err(ImageError::Digest {
            subject: format!("blob {}", blob.digest),
            expected: format!("{} bytes", blob.size),
            found: format!("{found} bytes"),
        }),
    }
}

/// Unpacks what is there and what arrives, and checks the blob's digest. What has come is kept where it is a part.
fn unpack_checked(
    receiver: mpsc::Receiver<Bytes>,
    partial: Option<Partial>,
    blob: &Descriptor,
    staged: &StagedLayer,
) -> Result<Unpacked, ImageError> {
    let begin = partial.as_ref().and_then(|partial| partial.reader().ok());
    let arriving = Arriving { receiver, chunk: Bytes::new(), partial };
    let begin: Box<dyn Read + Send> =
        begin.map_or_else(|| Box::new(io::empty()) as _, |begin| Box::new(begin) as _);
    let mut stream = Hashing::new(begin.chain(arriving));
    let unpacked = unpack(&mut stream, &staged.fs());
    if !matches!(&unpacked, Ok(_) | Err(ImageError::Layer { source: LayerFault::Tar(_), .. })) {
        let (stream, ..) = stream.finish();
        stream.into_inner().1.forget();
        return unpacked;
    }
    // To the end, so that a changed byte is called a wrong digest rather than a damaged archive.
    let rest = io::copy(&mut stream, &mut io::sink());
    let (stream, found, count) = stream.finish();
    if rest.is_err() || count < blob.size {
        return unpacked;
    }
    stream.into_inner().1.forget();
    if count == blob.size && found.to_string() != blob.digest {
        let (subject, expected) = (format!("blob {}", blob.digest), blob.digest.clone());
        return Err(ImageError::Digest { subject, expected, found: found.to_string() });
    }
    unpacked
}

/// The receiving end as a reader, for a blocking thread.
struct Arriving {
    receiver: mpsc::Receiver<Bytes>,
    chunk: Bytes,
    /// Where what has come is kept.
    partial: Option<Partial>,
}

impl Arriving {
    fn forget(self) {
        if let Some(partial) = self.partial {
            partial.remove();
        }
    }
}

impl Read for Arriving {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.receiver.blocking_recv() {
                Some(chunk) => {
                    if let Some(partial) = &mut self.partial {
                        partial.append(&chunk);
                    }
                    self.chunk = chunk;
                }
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.chunk.len());
        buffer[..count].copy_from_slice(&self.chunk.split_to(count));
        Ok(count)
    }
}
