//! Reading.

use std::io::{self, Read, Seek, SeekFrom};

use tar::{EntryType, Header};

use super::entry::{Entry, Kind, Time};
use super::fault::TarFault;
use super::padding;
use super::pax::{self, Extensions};

/// No name, link and set of attributes of one member need more; more would only fill memory.
const EXTENSION_CAP: u64 = 1 << 20;

/// Reads members one after the other. After [`Reader::next_entry`], reading yields that member's data.
pub struct Reader<R> {
    source: R,
    /// Data of the current member not read yet.
    left: u64,
    /// Zeros behind it.
    padding: u64,
    /// What a header for all members says about them.
    comment: Option<String>,
}

impl<R: Read> Reader<R> {
    pub fn new(source: R) -> Self {
        Self { source, left: 0, padding: 0, comment: None }
    }

    /// The source, wherever it stands.
    pub fn into_inner(self) -> R {
        self.source
    }

    /// The comment of a header for all members met so far; git writes the commit there.
    pub fn comment(&self) -> Option<&str> {
        self.comment.as_deref()
    }

    /// The next member; `None` at the end mark, or where the source ends between two members. What was not
    /// read of the last one is skipped.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, TarFault> {
        let mut extensions = Extensions::default();
        let mut extended = false;
        let mut room = EXTENSION_CAP;
        loop {
            self.skip()?;
            let Some(header) = self.header()? else {
                return if extended { Err(TarFault::Dangling) } else { Ok(None) };
            };
            match header.entry_type() {
                EntryType::XHeader => extensions.read(&self.extension(&header, &mut room)?)?,
                EntryType::GNULongName => {
                    extensions.path = terminated(self.extension(&header, &mut room)?);
                }
                EntryType::GNULongLink => {
                    extensions.link = terminated(self.extension(&header, &mut room)?);
                }
                // It describes all members that follow; a commit id is all that is met in practice.
                EntryType::XGlobalHeader => {
                    let records = self.extension(&header, &mut { EXTENSION_CAP })?;
                    self.comment = pax::comment(&records).or(self.comment.take());
                    continue;
                }
                _ => return self.member(&header, extensions).map(Some),
            }
            extended = true;
        }
    }

    /// The next header; `None` at the end.
    fn header(&mut self) -> Result<Option<Header>, TarFault> {
        let mut header = Header::new_old();
        let block = header.as_mut_bytes();
        let mut filled = 0;
        while filled < block.len() {
            match self.source.read(&mut block[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(TarFault::Truncated),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
        // The checksum counts its own eight bytes as spaces.
        let expected = sum(&block[..148]) + sum(&block[156..]) + 8 * u32::from(b' ');
        match header.cksum() {
            Ok(found) if found == expected => Ok(Some(header)),
            _ => Err(TarFault::Checksum),
        }
    }

    /// The data of an extension header, for which there is so much `room`.
    fn extension(&mut self, header: &Header, room: &mut u64) -> Result<Vec<u8>, TarFault> {
        let size = numeric("size", &header.as_old().size, header.entry_size())?;
        *room = room.checked_sub(size).ok_or(TarFault::ExtensionTooLong {
            size: (EXTENSION_CAP - *room).saturating_add(size),
            cap: EXTENSION_CAP,
        })?;
        self.begin(size);
        let mut data = Vec::with_capacity(size as usize);
        self.read_to_end(&mut data)?;
        if data.len() as u64 != size {
            return Err(TarFault::Truncated);
        }
        Ok(data)
    }

    fn member(&mut self, header: &Header, extensions: Extensions) -> Result<Entry, TarFault> {
        let fields = header.as_old();
        let path = extensions.path.unwrap_or_else(|| header.path_bytes().into_owned());
        let kind = kind(header, &path, extensions.link)?;
        // As Go's reader, which made most layers: only files have data, whatever the header says.
        let size = match (&kind, extensions.size) {
            (Kind::File, Some(size)) => size,
            (Kind::File, None) => numeric("size", &fields.size, header.entry_size())?,
            _ => 0,
        };
        let id = |name, bytes: &[u8], found| {
            let id = numeric(name, bytes, found)?;
            u32::try_from(id).map_err(|_| TarFault::Field { field: name })
        };
        let entry = Entry {
            path,
            kind,
            mode: numeric("mode", &fields.mode, header.mode().map(u64::from))? as u32 & 0o7777,
            uid: extensions.uid.map_or_else(|| id("uid", &fields.uid, header.uid()), Ok)?,
            gid: extensions.gid.map_or_else(|| id("gid", &fields.gid, header.gid()), Ok)?,
            mtime: match extensions.mtime {
                Some(time) => time,
                // Base-256 fields carry times before 1970 as two's complement.
                None => {
                    Time { seconds: numeric("mtime", &fields.mtime, header.mtime())? as i64, nanoseconds: 0 }
                }
            },
            size,
            xattrs: extensions.xattrs,
        };
        self.begin(size);
        Ok(entry)
    }

    fn begin(&mut self, size: u64) {
        self.left = size;
        self.padding = padding(size);
    }

    fn skip(&mut self) -> Result<(), TarFault> {
        let count = u128::from(self.left) + u128::from(self.padding);
        let count = u64::try_from(count).map_err(|_| TarFault::Field { field: "size" })?;
        let skipped = io::copy(&mut (&mut self.source).take(count), &mut io::sink())?;
        // The zeros behind the last member may be missing, its data may not.
        if skipped < self.left {
            return Err(TarFault::Truncated);
        }
        (self.left, self.padding) = (0, 0);
        Ok(())
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Steps over the data of the current member, and says where it begins. That it is all there is not looked at.
    pub(crate) fn step_over(&mut self) -> Result<u64, TarFault> {
        let start = self.source.stream_position()?;
        let behind = start.checked_add(self.left).and_then(|end| end.checked_add(self.padding));
        self.source.seek(SeekFrom::Start(behind.ok_or(TarFault::Field { field: "size" })?))?;
        (self.left, self.padding) = (0, 0);
        Ok(start)
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.source.read(&mut buffer[..wanted])?;
        if count == 0 && wanted > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count as u64;
        Ok(count)
    }
}

fn kind(header: &Header, path: &[u8], link: Option<Vec<u8>>) -> Result<Kind, TarFault> {
    let target = || match link {
        Some(link) => Ok(link),
        None => header
            .link_name_bytes()
            .map(|link| link.into_owned())
            .ok_or(TarFault::Field { field: "linkname" }),
    };
    let device = |character| {
        // Good for a note only: no device is ever made.
        let number = |found: io::Result<Option<u32>>| found.ok().flatten().unwrap_or(0);
        let (major, minor) = (number(header.device_major()), number(header.device_minor()));
        Ok(Kind::Device { character, major, minor })
    };
    match header.entry_type().as_byte() {
        // Before there was a type for directories.
        0 if path.ends_with(b"/") => Ok(Kind::Directory),
        0 | b'0' | b'7' => Ok(Kind::File),
        b'1' => target().map(Kind::HardLink),
        b'2' => target().map(Kind::Symlink),
        b'3' => device(true),
        b'4' => device(false),
        b'5' => Ok(Kind::Directory),
        b'6' => Ok(Kind::Fifo),
        other => Err(TarFault::Unsupported { kind: other as char }),
    }
}

/// A number in a header; a blank field is zero, as some writers leave what does not matter to them.
fn numeric(field: &'static str, bytes: &[u8], found: io::Result<u64>) -> Result<u64, TarFault> {
    match bytes.iter().all(|byte| matches!(byte, 0 | b' ')) {
        true => Ok(0),
        false => found.map_err(|_| TarFault::Field { field }),
    }
}

/// A GNU long name without its terminator; where nothing is left, the header's own field counts.
fn terminated(mut name: Vec<u8>) -> Option<Vec<u8>> {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    name.truncate(end);
    (!name.is_empty()).then_some(name)
}
