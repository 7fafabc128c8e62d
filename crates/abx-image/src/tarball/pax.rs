//! PAX extension records: `LENGTH KEY=VALUE\n`, where the value may hold any bytes.

use super::entry::{Time, Xattr};
use super::fault::TarFault;

const XATTR: &str = "SCHILY.xattr.";

/// What extension headers say about the next member.
#[derive(Debug, Default)]
pub(super) struct Extensions {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
    pub(super) mtime: Option<Time>,
    pub(super) xattrs: Vec<Xattr>,
}

impl Extensions {
    /// Takes the records of one PAX header.
    pub(super) fn read(&mut self, mut data: &[u8]) -> Result<(), TarFault> {
        while !data.is_empty() {
            let (key, value, rest) = record(data).ok_or(TarFault::Field { field: "pax" })?;
            self.set(key, value)?;
            data = rest;
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: &[u8]) -> Result<(), TarFault> {
        match key {
            // The header's own field counts then.
            "path" | "linkpath" | "size" | "uid" | "gid" | "mtime" if value.is_empty() => {}
            "path" => self.path = Some(value.to_owned()),
            "linkpath" => self.link = Some(value.to_owned()),
            "size" => self.size = Some(number(value, "size")?),
            "uid" => self.uid = Some(number(value, "uid")?),
            "gid" => self.gid = Some(number(value, "gid")?),
            "mtime" => self.mtime = Some(time(value)?),
            // The data of such a member is a map and fragments, not the file.
            key if key.starts_with("GNU.sparse.") => return Err(TarFault::Unsupported { kind: 'S' }),
            key => {
                if let Some(name) = key.strip_prefix(XATTR) {
                    self.xattrs.push(Xattr { name: name.to_owned(), value: value.to_owned() });
                }
            }
        }
        Ok(())
    }
}

/// The comment among the records of a header, where there is one to be found.
pub(super) fn comment(mut data: &[u8]) -> Option<String> {
    while let Some((key, value, rest)) = record(data) {
        if key == "comment" {
            return String::from_utf8(value.to_owned()).ok();
        }
        data = rest;
    }
    None
}

/// The first record of `data` and what follows it.
fn record(data: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let space = data.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&data[..space]).ok()?.parse().ok()?;
    let body = data.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = body.iter().position(|byte| *byte == b'=')?;
    Some((std::str::from_utf8(&body[..equals]).ok()?, &body[equals + 1..], &data[length..]))
}

fn number<N: std::str::FromStr>(value: &[u8], field: &'static str) -> Result<N, TarFault> {
    std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).ok_or(TarFault::Field { field })
}

/// `SECONDS[.FRACTION]`, negative before 1970.
fn time(value: &[u8]) -> Result<Time, TarFault> {
    let field = "mtime";
    let text = std::str::from_utf8(value).map_err(|_| TarFault::Field { field })?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = number(whole.as_bytes(), field)?;
    let digits: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    let nanoseconds: u32 = number(digits.as_bytes(), field)?;
    Ok(match text.starts_with('-') && nanoseconds > 0 {
        true => Time { seconds: seconds.saturating_sub(1), nanoseconds: 1_000_000_000 - nanoseconds },
        false => Time { seconds, nanoseconds },
    })
}

/// Appends a record. Its length counts its own digits.
pub(super) fn write(data: &mut Vec<u8>, key: &str, value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while rest + length.to_string().len() != length {
        length = rest + length.to_string().len();
    }
    data.extend_from_slice(format!("{length} {key}=").as_bytes());
    data.extend_from_slice(value);
    data.push(b'\n');
}

/// Appends the records of extended attributes.
pub(super) fn write_xattrs(data: &mut Vec<u8>, xattrs: &[Xattr]) {
    for xattr in xattrs {
        write(data, &format!("{XATTR}{}", xattr.name), &xattr.value);
    }
}
