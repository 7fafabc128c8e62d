//! What a file is, by its first bytes.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use crate::vendored;

/// The forms of an archive that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Gzip,
    Zip,
    Tar,
    /// A tar with a template and its image, see [`vendored`].
    Vendored,
}

/// One block of a tar.
const BLOCK: usize = 512;

/// The form of what is at `path`; `None` also where that cannot be read, or is no file.
pub(crate) fn form_of(path: &Path) -> Option<Form> {
    // Nothing waits for the writer of a FIFO.
    path.is_file().then(|| form(&mut File::open(path)?)).and_then(Result::ok)?
}

/// The form of an open file, which is at its start again afterwards; `None` for what is no archive.
pub(super) fn form(file: &mut File) -> io::Result<Option<Form>> {
    let mut start = Vec::with_capacity(BLOCK);
    file.rewind()?;
    file.take(BLOCK as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(match &start[..] {
        [0x1f, 0x8b, ..] => Some(Form::Gzip),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => Some(Form::Zip),
        start if start.len() == BLOCK && &start[257..262] == b"ustar" => {
            let name = vendored::MANIFEST.as_bytes();
            let is_vendored = start.starts_with(name) && start[name.len()] == 0;
            Some(if is_vendored { Form::Vendored } else { Form::Tar })
        }
        _ => None,
    })
}
