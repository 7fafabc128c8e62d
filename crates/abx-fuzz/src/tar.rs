//! Tar as a stream.

use std::io::Read;

use abx_image::TarFault;
use abx_image::tarball::{Entry, Reader, Writer};

/// What is read can be written, and is read as the same but for the fractions of a time.
pub fn tar(bytes: &[u8]) {
    let Ok(members) = members(bytes) else { return };
    let mut writer = Writer::new(Vec::new());
    for (entry, data) in &members {
        if writer.append(entry, data.as_slice()).is_err() {
            return;
        }
    }
    let written = writer.finish().expect("written to memory");
    assert_eq!(self::members(&written).expect("it was just written"), members, "written and read it differs");
}

fn members(bytes: &[u8]) -> Result<Vec<(Entry, Vec<u8>)>, TarFault> {
    let mut reader = Reader::new(bytes);
    let mut members = Vec::new();
    while let Some(mut entry) = reader.next_entry()? {
        let mut data = Vec::new();
        reader.read_to_end(&mut data)?;
        assert_eq!(data.len() as u64, entry.size, "a member has the data it announces");
        entry.mtime.nanoseconds = 0;
        members.push((entry, data));
    }
    Ok(members)
}
