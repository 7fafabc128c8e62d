//! The beginning of a large blob, kept for the next attempt: `store/partial/<digest>`.
//!
//! It is written while the blob is unpacked, read first by whoever wants the blob next, and removed once the layer is
//! there or turns out to be another. The digest over all of it decides, so nothing here need be trusted.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};

use crate::oci::Descriptor;
use crate::{Digest, ImageStore};

/// What is smaller is fetched again.
const LEAST: u64 = 8 << 20;

/// The kept beginning of one blob, locked.
pub(super) struct Partial {
    path: PathBuf,
    file: File,
    /// What was there when it was opened.
    length: u64,
    /// Whether what comes is still written down.
    is_kept: bool,
}

impl Partial {
    /// Opens or begins the file of a blob. `None` where it is not worth it, another process has it, or the disk will
    /// not have it: it only saves work.
    pub(super) fn open(store: &ImageStore, blob: &Descriptor, digest: &Digest) -> Option<Self> {
        if blob.size < LEAST {
            return None;
        }
        let directory = store.home().store("partial");
        std::fs::create_dir_all(&directory).ok()?;
        let path = directory.join(digest.hex());
        let file = File::options().create(true).read(true).append(true).open(&path).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        let mut partial = Self { path, file, length: 0, is_kept: true };
        partial.length = partial.file.metadata().ok()?.len();
        // As large as the blob it is either whole or another: neither can be gone on with.
        if partial.length >= blob.size {
            partial.file.set_len(0).ok()?;
            partial.length = 0;
        }
        Some(partial)
    }

    /// How much is there already.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// What is there already.
    pub(super) fn reader(&self) -> io::Result<impl Read + use<>> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file.take(self.length))
    }

    /// Adds what has come. Where there is no room for it, what there is is given up for what matters more.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        if self.is_kept && self.file.write_all(bytes).is_err() {
            self.is_kept = false;
            let _ = self.file.set_len(0);
        }
    }

    /// It has served, or is of no use.
    pub(super) fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
