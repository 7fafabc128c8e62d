//! Writing: ustar, with PAX records for what does not fit.

use std::io::{self, Read, Write};

use tar::{EntryType, Header};

use super::entry::{Entry, Kind};
use super::{BLOCK, padding, pax};

/// Octal fields of a header end here; larger numbers go into PAX records.
const ID_END: u32 = 1 << 21;
const SIZE_END: u64 = 1 << 33;

/// Writes members one after the other. The same members give the same bytes.
pub struct Writer<W> {
    target: W,
}

impl<W: Write> Writer<W> {
    pub fn new(target: W) -> Self {
        Self { target }
    }

    /// Writes a member whose data is `entry.size` bytes of `data`; fails where there are fewer.
    pub fn append(&mut self, entry: &Entry, data: impl Read) -> io::Result<()> {
        let mut header = Header::new_ustar();
        let records = fill(&mut header, entry);
        if !records.is_empty() {
            self.extension(&records)?;
        }
        self.block(header)?;
        let copied = io::copy(&mut data.take(entry.size), &mut self.target)?;
        if copied != entry.size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.pad(entry.size)
    }

    /// Ends the archive and hands its target back.
    pub fn finish(mut self) -> io::Result<W> {
        self.target.write_all(&[0; 2 * BLOCK as usize])?;
        Ok(self.target)
    }

    fn extension(&mut self, records: &[u8]) -> io::Result<()> {
        let mut header = Header::new_ustar();
        header.as_ustar_mut().expect("made as ustar").name[..11].copy_from_slice(b"PaxHeaders/");
        header.set_entry_type(EntryType::XHeader);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(records.len() as u64);
        self.block(header)?;
        self.target.write_all(records)?;
        self.pad(records.len() as u64)
    }

    fn block(&mut self, mut header: Header) -> io::Result<()> {
        header.set_cksum();
        self.target.write_all(header.as_bytes())
    }

    fn pad(&mut self, size: u64) -> io::Result<()> {
        self.target.write_all(&[0; BLOCK as usize][..padding(size) as usize])
    }
}

/// Fills a header, and returns the PAX records of what does not fit.
fn fill(header: &mut Header, entry: &Entry) -> Vec<u8> {
    let mut records = Vec::new();
    let fields = header.as_ustar_mut().expect("made as ustar");
    put(&mut fields.name, "path", &entry.path, &mut records);
    if let Kind::HardLink(target) | Kind::Symlink(target) = &entry.kind {
        put(&mut fields.linkname, "linkpath", target, &mut records);
    }
    if let Kind::Device { major, minor, .. } = entry.kind {
        // Fails for old headers only.
        let _ = header.set_device_major(major);
        let _ = header.set_device_minor(minor);
    }
    header.set_entry_type(match entry.kind {
        Kind::File => EntryType::Regular,
        Kind::Directory => EntryType::Directory,
        Kind::HardLink(_) => EntryType::Link,
        Kind::Symlink(_) => EntryType::Symlink,
        Kind::Fifo => EntryType::Fifo,
        Kind::Device { character: true, .. } => EntryType::Char,
        Kind::Device { character: false, .. } => EntryType::Block,
    });
    header.set_mode(entry.mode);
    for (key, id, set) in
        [("uid", entry.uid, Header::set_uid as fn(&mut Header, u64)), ("gid", entry.gid, Header::set_gid)]
    {
        set(header, u64::from(if id < ID_END { id } else { 0 }));
        if id >= ID_END {
            pax::write(&mut records, key, id.to_string().as_bytes());
        }
    }
    let seconds = u64::try_from(entry.mtime.seconds).ok().filter(|seconds| *seconds < SIZE_END);
    header.set_mtime(seconds.unwrap_or(0));
    if seconds.is_none() {
        pax::write(&mut records, "mtime", entry.mtime.seconds.to_string().as_bytes());
    }
    header.set_size(if entry.size < SIZE_END { entry.size } else { 0 });
    if entry.size >= SIZE_END {
        pax::write(&mut records, "size", entry.size.to_string().as_bytes());
    }
    pax::write_xattrs(&mut records, &entry.xattrs);
    records
}

/// Text into a field; where it does not fit, the field gets its beginning and the record the whole.
fn put(field: &mut [u8; 100], key: &str, text: &[u8], records: &mut Vec<u8>) {
    let fits = text.len().min(field.len());
    field[..fits].copy_from_slice(&text[..fits]);
    if text.len() > field.len() || !text.is_ascii() {
        pax::write(records, key, text);
    }
}
