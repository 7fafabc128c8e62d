//! Members of an archive by their paths.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::oci::Descriptor;
use crate::tarball::{Kind, Reader};
use crate::{Digest, ImageError};

/// No image has so many layers and documents; a package's files may lie beside them.
const MEMBERS: usize = 200_000;
/// A document with more bytes is none.
const DOCUMENT_CAP: u64 = 8 << 20;

/// An open archive.
pub(super) struct Members {
    path: PathBuf,
    file: File,
    places: HashMap<String, Place>,
}

#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    size: u64,
}

impl Members {
    /// Looks at every header. A member that is not whole is an error.
    pub(super) fn open(path: &Path) -> Result<Self, ImageError> {
        let damaged = |reason: String| ImageError::Archive { path: path.to_owned(), reason };
        let file = File::open(path).map_err(ImageError::store("read", path))?;
        let length = file.metadata().map_err(ImageError::store("read", path))?.len();
        let mut reader = Reader::new(&file);
        let mut places = HashMap::new();
        while let Some(entry) = reader.next_entry().map_err(|fault| damaged(fault.to_string()))? {
            let offset = reader.step_over().map_err(|fault| damaged(fault.to_string()))?;
            let name = String::from_utf8_lossy(&entry.path).trim_start_matches("./").to_owned();
            if offset.checked_add(entry.size).is_none_or(|end| end > length) {
                return Err(damaged(format!("it breaks off within {name:?}")));
            }
            if places.len() == MEMBERS {
                return Err(damaged(format!("it has more than {MEMBERS} members")));
            }
            if entry.kind == Kind::File {
                places.entry(name).or_insert(Place { offset, size: entry.size });
            }
        }
        Ok(Self { path: path.to_owned(), file, places })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A small member.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, ImageError> {
        let place = self.place(name)?;
        if place.size > DOCUMENT_CAP {
            return Err(self.damaged(format!("{name:?} has more than {DOCUMENT_CAP} bytes")));
        }
        let mut bytes = Vec::new();
        let read = Section { file: &self.file, place }.read_to_end(&mut bytes);
        read.map_err(ImageError::store("read", &self.path))?;
        Ok(bytes)
    }

    /// The document of that digest, checked.
    pub(super) fn document(&self, digest: &Digest) -> Result<Vec<u8>, ImageError> {
        let bytes = self.read(&format!("blobs/sha256/{}", digest.hex()))?;
        let found = Digest::of(&bytes);
        match found == *digest {
            true => Ok(bytes),
            false => Err(ImageError::Digest {
                subject: format!("a document of {}", self.path.display()),
                expected: digest.to_string(),
                found: found.to_string(),
            }),
        }
    }

    /// The bytes of a blob, which are as many as it says.
    pub(super) fn blob(&self, blob: &Descriptor) -> Result<impl Read + '_, ImageError> {
        let digest = blob.digest().ok_or_else(|| self.damaged("a malformed digest".to_owned()))?;
        let place = self.place(&format!("blobs/sha256/{}", digest.hex()))?;
        match place.size == blob.size {
            true => Ok(Section { file: &self.file, place }),
            false => Err(ImageError::Digest {
                subject: format!("blob {digest}"),
                expected: format!("{} bytes", blob.size),
                found: format!("{} bytes", place.size),
            }),
        }
    }

    fn place(&self, name: &str) -> Result<Place, ImageError> {
        self.places.get(name).copied().ok_or_else(|| self.damaged(format!("it has no {name:?}")))
    }

    fn damaged(&self, reason: String) -> ImageError {
        ImageError::Archive { path: self.path.clone(), reason }
    }
}

/// A part of a file that several threads read.
struct Section<'f> {
    file: &'f File,
    place: Place,
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.place.size).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.read_at(&mut buffer[..wanted], self.place.offset)?;
        if count == 0 && wanted > 0 {
            // It was longer when it was opened.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.place.offset += count as u64;
        self.place.size -= count as u64;
        Ok(count)
    }
}
