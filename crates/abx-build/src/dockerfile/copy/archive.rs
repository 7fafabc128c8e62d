//! Archives that `ADD` unpacks: tar, plain or compressed, told by content.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use abx_image::tarball::{Entry, Kind, Reader};
use rustix::fs::Timespec;

use super::files::{Item, Node};
use super::paint::Painter;
use crate::canvas::{Canvas, Owner};
use crate::dockerfile::refusal::Refusal;

/// How a file is compressed, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Xz,
    Zstd,
    Bzip2,
}

/// Whether a file is an archive that is unpacked: a tar with at least one readable header.
pub(super) fn is_archive(path: &Path, name: &str) -> Result<bool, Refusal> {
    let unreadable = |source| Refusal::File { verb: "read", path: name.to_owned(), source };
    let mut file = File::open(path).map_err(unreadable)?;
    let compression = compression(&mut file).map_err(unreadable)?;
    let Ok(plain) = decompressed(file, compression) else { return Ok(false) };
    // What is compressed but no tar is a file like any other.
    Ok(matches!(Reader::new(plain).next_entry(), Ok(Some(_))))
}

/// Unpacks the archive at `path` below `target`, a directory without links in its path. Members keep their owners
/// and modes.
pub(super) fn unpack(canvas: &Canvas, path: &Path, name: &str, target: &Path) -> Result<(), Refusal> {
    let failed = |reason: String| Refusal::Unpack { path: name.to_owned(), reason };
    let mut file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let compression = compression(&mut file).map_err(|error| failed(error.to_string()))?;
    let plain = decompressed(file, compression).map_err(|error| failed(error.to_string()))?;
    let mut reader = Reader::new(plain);
    let mut painter = Painter { is_replacing: true, ..Painter::new(canvas) };
    while let Some(entry) = reader.next_entry().map_err(|fault| failed(fault.to_string()))? {
        let shown = String::from_utf8_lossy(&entry.path).into_owned();
        let Some(path) = inside(&entry.path) else {
            return Err(failed(format!("`{shown}` leads out of it")));
        };
        let parent = target.join(&path).parent().map(Path::to_owned).unwrap_or_default();
        // As if the target were the root: what goes through a link stays below it.
        let real = canvas.view().real(&parent).map_err(|error| failed(error.to_string()))?;
        if !path.as_os_str().is_empty() && !real.starts_with(target) {
            return Err(failed(format!("`{shown}` goes through a link that leads out of it")));
        }
        member(&mut painter, target, &path, &entry, &mut reader, &failed)?;
    }
    Ok(())
}

fn member(
    painter: &mut Painter<'_>,
    target: &Path,
    path: &Path,
    entry: &Entry,
    data: &mut impl Read,
    failed: &impl Fn(String) -> Refusal,
) -> Result<(), Refusal> {
    let node = match &entry.kind {
        // The archive's own root.
        _ if path.as_os_str().is_empty() => return Ok(()),
        Kind::File => Node::File { digest: String::new() },
        Kind::Directory => Node::Directory,
        Kind::Symlink(link) => Node::Link { target: std::ffi::OsStr::from_bytes(link).into() },
        Kind::Fifo => Node::Fifo,
        Kind::HardLink(link) => {
            let link = inside(link).ok_or_else(|| failed("a link in it leads out of it".to_owned()))?;
            return painter.again(&target.join(path), &target.join(link));
        }
        // A sandbox has a /dev of its own.
        Kind::Device { .. } => return Ok(()),
    };
    let item = Item {
        path: path.to_owned(),
        host: PathBuf::new(),
        node,
        mode: entry.mode,
        owner: Owner { uid: entry.uid, gid: entry.gid },
        time: Some(Timespec { tv_sec: entry.mtime.seconds, tv_nsec: entry.mtime.nanoseconds.into() }),
        xattrs: entry.xattrs.iter().map(|xattr| (xattr.name.clone(), xattr.value.clone())).collect(),
        inode: None,
        stamp: None,
    };
    painter.member(&target.join(path), &item, data)
}

/// A path of an archive below where it is unpacked; `None` for one that leads out.
fn inside(path: &[u8]) -> Option<PathBuf> {
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => plain.push(part),
            Component::ParentDir => plain.pop().then_some(())?,
            _ => {}
        }
    }
    Some(plain)
}

fn compression(file: &mut File) -> io::Result<Compression> {
    let mut start = Vec::with_capacity(6);
    file.by_ref().take(6).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(match &start[..] {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Compression::Xz,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        [b'B', b'Z', b'h', ..] => Compression::Bzip2,
        _ => Compression::None,
    })
}

fn decompressed(file: File, compression: Compression) -> io::Result<Box<dyn Read>> {
    let file = BufReader::with_capacity(1 << 16, file);
    let plain: Box<dyn Read> = match compression {
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(file)),
        Compression::Xz => Box::new(liblzma::read::XzDecoder::new_multi_decoder(file)),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(file)?),
        Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(file)),
        Compression::None => return Ok(Box::new(file)),
    };
    // Decoders dislike to be asked for nothing, as it happens at the end of a member.
    Ok(Box::new(BufReader::with_capacity(1 << 16, plain)))
}
