//! A folder or a file of this machine as a tar stream.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tar::{Builder, Header};

use super::TransferError;

/// Writes all that is in `root`, by names relative to it, links as links. Returns what was left out because no
/// archive can hold it.
pub(super) fn pack(root: &Path, out: impl Write) -> Result<Vec<String>, TransferError> {
    let mut builder = Builder::new(out);
    let mut skipped = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(folder) = waiting.pop() {
        let path = root.join(&folder);
        let entries = std::fs::read_dir(&path).map_err(TransferError::local("read", &path))?;
        let mut entries =
            entries.collect::<io::Result<Vec<_>>>().map_err(TransferError::local("read", &path))?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let name = folder.join(entry.file_name());
            let path = root.join(&name);
            match append(&mut builder, &path, &name).map_err(TransferError::local("send", &path))? {
                Appended::Folder => waiting.push(name),
                Appended::Other => {}
                Appended::Skipped => skipped.push(path.display().to_string()),
            }
        }
    }
    builder.into_inner().map(|_| skipped).map_err(TransferError::local("send", root))
}

/// Writes one file by that name.
pub(super) fn pack_file(path: &Path, name: &str, out: impl Write) -> Result<Vec<String>, TransferError> {
    let failed = || TransferError::local("send", path);
    // The file itself, where `path` is a link to it.
    let file = path.canonicalize().map_err(failed())?;
    let mut builder = Builder::new(out);
    append(&mut builder, &file, Path::new(name)).map_err(failed())?;
    builder.into_inner().map(|_| Vec::new()).map_err(failed())
}

enum Appended {
    Folder,
    Other,
    Skipped,
}

fn append(builder: &mut Builder<impl Write>, path: &Path, name: &Path) -> io::Result<Appended> {
    let metadata = path.symlink_metadata()?;
    let mut header = Header::new_gnu();
    header.set_metadata(&metadata);
    if metadata.is_dir() {
        builder.append_data(&mut header, name, io::empty())?;
        return Ok(Appended::Folder);
    }
    if metadata.is_symlink() {
        header.set_size(0);
        builder.append_link(&mut header, name, std::fs::read_link(path)?)?;
        return Ok(Appended::Other);
    }
    if !metadata.is_file() {
        return Ok(Appended::Skipped);
    }
    let content = Exactly { file: File::open(path)?, left: metadata.len() };
    builder.append_data(&mut header, name, content)?;
    Ok(Appended::Other)
}

/// As many bytes of a file as its header has promised; a file that has become shorter is an error.
struct Exactly {
    file: File,
    left: u64,
}

impl Read for Exactly {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let limit = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let length = self.file.read(&mut buffer[..limit])?;
        if length == 0 && limit > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was read"));
        }
        self.left -= length as u64;
        Ok(length)
    }
}
