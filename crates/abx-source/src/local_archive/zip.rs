//! A zip, by the same rules as a tar.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use abx_image::tarball::{Entry, Kind, Time};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::archive::{ArchiveFault, Caps, Extracted, Extraction, Layout};

/// Longer targets are none of a path that is let in.
const TARGET_CAP: u64 = 4096;

/// Extracts every member into `directory`, which is empty.
pub(super) fn extract(source: &mut File, directory: &Path, caps: &Caps) -> Result<Extracted, ArchiveFault> {
    // Reading the directory of members takes memory for each.
    if declared(source)? > caps.entries {
        return Err(ArchiveFault::Cap { what: "entries", cap: caps.entries });
    }
    source.rewind()?;
    let mut archive = ZipArchive::new(BufReader::new(source)).map_err(|error| fault("", error))?;
    if archive.len() as u64 > caps.entries {
        return Err(ArchiveFault::Cap { what: "entries", cap: caps.entries });
    }
    let mut extraction = Extraction::new(directory, caps, Layout::Root)?;
    for index in 0..archive.len() {
        let raw = archive.by_index_raw(index).map_err(|error| fault("", error))?;
        let name = String::from_utf8_lossy(raw.name_raw()).into_owned();
        if raw.encrypted() {
            return Err(unreadable(name, "it is encrypted"));
        }
        if !matches!(raw.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(unreadable(name, "it is compressed by another method than deflate"));
        }
        drop(raw);
        let mut member = archive.by_index(index).map_err(|error| fault(&name, error))?;
        let kind = kind(&mut member).map_err(|error| damaged(&name, error))?;
        let entry = Entry {
            path: member.name_raw().to_owned(),
            mode: member.unix_mode().unwrap_or(0o644) & 0o7777,
            size: if kind == Kind::File { member.size() } else { 0 },
            kind,
            uid: 0,
            gid: 0,
            mtime: Time::default(),
            xattrs: Vec::new(),
        };
        let mut data = Counted { source: &mut member, count: 0 };
        extraction.entry(&entry, &mut data).map_err(|error| named(&name, error))?;
        if entry.kind == Kind::File {
            data.ends_at(entry.size).map_err(|error| damaged(&name, error))?;
        }
    }
    extraction.finish()
}

/// How many members the end of the archive declares; 0 where it has none, which reading it tells.
fn declared(source: &mut File) -> io::Result<u64> {
    const END: u64 = 22;
    const COMMENT: u64 = 65_535;
    const LOCATOR: usize = 20;
    let length = source.seek(SeekFrom::End(0))?;
    let start = length.saturating_sub(END + COMMENT + LOCATOR as u64);
    let mut tail = Vec::new();
    source.seek(SeekFrom::Start(start))?;
    source.read_to_end(&mut tail)?;
    let Some(end) = tail.windows(4).rposition(|bytes| bytes == b"PK\x05\x06") else { return Ok(0) };
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let count = tail.get(end + 10..end + 12).map_or(0, number);
    let locator = end.checked_sub(LOCATOR).and_then(|at| tail.get(at..end));
    match locator.filter(|locator| locator.starts_with(b"PK\x06\x07")) {
        // Larger archives say it in a record of their own.
        Some(locator) => {
            let mut record = [0; 40];
            source.seek(SeekFrom::Start(number(&locator[8..16])))?;
            match source.read_exact(&mut record) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(count),
                read => read.map(|()| number(&record[32..40]).max(count)),
            }
        }
        None => Ok(count),
    }
}

/// The kinds of Unix, which most programs write.
fn kind(member: &mut zip::read::ZipFile<'_, impl Read>) -> io::Result<Kind> {
    const FORMAT: u32 = 0o170_000;
    Ok(match member.unix_mode().unwrap_or(0) & FORMAT {
        0o120_000 => {
            let mut target = Vec::new();
            member.take(TARGET_CAP).read_to_end(&mut target)?;
            Kind::Symlink(target)
        }
        0o010_000 => Kind::Fifo,
        0o020_000 => Kind::Device { character: true, major: 0, minor: 0 },
        0o060_000 => Kind::Device { character: false, major: 0, minor: 0 },
        0o140_000 => Kind::Fifo,
        _ if member.is_dir() => Kind::Directory,
        _ => Kind::File,
    })
}

/// A member's content, and how much of it was read.
struct Counted<'m, R> {
    source: &'m mut R,
    count: u64,
}

impl<R: Read> Counted<'_, R> {
    /// Reads on to the end: there the checksum is compared, and it must come where it was declared.
    fn ends_at(mut self, size: u64) -> io::Result<()> {
        let rest = size.saturating_sub(self.count).saturating_add(1);
        io::copy(&mut (&mut self).take(rest), &mut io::sink())?;
        match self.count == size {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "it has another size than it declares")),
        }
    }
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
}

/// Says which member is damaged; other faults name theirs.
fn named(name: &str, fault: ArchiveFault) -> ArchiveFault {
    match fault {
        ArchiveFault::Damaged(source) => damaged(name, source),
        fault => fault,
    }
}

fn damaged(name: &str, source: io::Error) -> ArchiveFault {
    ArchiveFault::DamagedMember { name: name.to_owned(), source }
}

fn unreadable(name: String, reason: &'static str) -> ArchiveFault {
    ArchiveFault::Unreadable { name, reason }
}

fn fault(name: &str, error: ZipError) -> ArchiveFault {
    let source = match error {
        ZipError::Io(source) => source,
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    };
    match name {
        "" => ArchiveFault::Damaged(source),
        name => damaged(name, source),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn with_end(count: u16, before: &[u8]) -> File {
        let mut file = tempfile::tempfile().expect("file");
        file.write_all(before).expect("write");
        file.write_all(b"PK\x05\x06\0\0\0\0").expect("write");
        file.write_all(&[count.to_le_bytes(), count.to_le_bytes()].concat()).expect("write");
        file.write_all(&[0; 10]).expect("write");
        file
    }

    #[test]
    fn members_are_counted_before_they_are_read() {
        assert_eq!(declared(&mut with_end(7, b"members")).expect("count"), 7);
        let mut large = b"PK\x06\x06".to_vec();
        large.extend([0; 28]);
        large.extend(5_000_000u64.to_le_bytes());
        large.extend([0; 16]);
        large.extend(b"PK\x06\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0");
        assert_eq!(declared(&mut with_end(u16::MAX, &large)).expect("count"), 5_000_000);
        let mut none = tempfile::tempfile().expect("file");
        none.write_all(b"PK\x03\x04").expect("write");
        assert_eq!(declared(&mut none).expect("count"), 0);
        let refused =
            extract(&mut with_end(7, &large), Path::new("/nowhere"), &Caps { entries: 6, ..Caps::default() });
        assert!(matches!(refused, Err(ArchiveFault::Cap { what: "entries", cap: 6 })), "{refused:?}");
    }
}
