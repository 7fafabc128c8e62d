//! A blob at hand into a layer's directory, checked on the way.

use std::io::{self, Read};
use std::path::Path;

use abx_core::progress::Task;

use crate::digest::Hashing;
use crate::oci::Descriptor;
use crate::{Digest, ImageError, LayerFault, unpack};

/// Unpacks a blob; what is in `into` counts only where this succeeds. Returns what was left out.
pub(super) fn unpack_blob(
    stream: impl Read + Send,
    blob: &Descriptor,
    diff_id: &Digest,
    into: &Path,
    task: &Task<'_>,
) -> Result<Vec<String>, ImageError> {
    let mut stream = Hashing::new(Counted { stream, task });
    let unpacked = match unpack(&mut stream, into) {
        Err(error) if !matches!(error, ImageError::Layer { source: LayerFault::Tar(_), .. }) => {
            return Err(error);
        }
        unpacked => unpacked,
    };
    // To the end, so that a changed byte is called a wrong digest rather than a damaged archive.
    let rest = io::copy(&mut stream, &mut io::sink());
    let (_, found, _) = stream.finish();
    if rest.is_ok() && found.to_string() != blob.digest {
        return Err(wrong(format!("blob {}", blob.digest), &blob.digest, &found));
    }
    let unpacked = unpacked?;
    match unpacked.diff_id == *diff_id {
        true => Ok(unpacked.notes),
        false => {
            Err(wrong(format!("layer {}, unpacked,", blob.digest), &diff_id.to_string(), &unpacked.diff_id))
        }
    }
}

fn wrong(subject: String, expected: &str, found: &Digest) -> ImageError {
    ImageError::Digest { subject, expected: expected.to_owned(), found: found.to_string() }
}

/// Tells how far reading has come.
struct Counted<'t, 'p, R> {
    stream: R,
    task: &'t Task<'p>,
}

impl<R: Read> Read for Counted<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.task.advance(count as u64);
        Ok(count)
    }
}
