//! The binary package format: an `ar` archive of two tar archives.

use std::io::Read;

use crate::compression::Compression;

/// The members of a `.deb`.
pub(crate) struct Deb<'a> {
    control: Member<'a>,
    data: Member<'a>,
}

#[derive(Clone, Copy)]
struct Member<'a> {
    compression: Compression,
    bytes: &'a [u8],
}

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;

impl<'a> Deb<'a> {
    /// Finds the members. The error says what is wrong with the file.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let mut rest = bytes.strip_prefix(MAGIC).ok_or("it is no ar archive")?;
        let (mut control, mut data, mut first) = (None, None, true);
        while !rest.is_empty() {
            let (name, content, after) = member(rest)?;
            if std::mem::take(&mut first) && !(name == "debian-binary" && content.starts_with(b"2.")) {
                return Err("it is no package of format 2");
            }
            let slot = match name.split_once(".tar") {
                Some(("control", suffix)) => Some((&mut control, suffix)),
                Some(("data", suffix)) => Some((&mut data, suffix)),
                _ => None,
            };
            if let Some((slot, suffix)) = slot {
                let compression =
                    Compression::of_suffix(suffix).ok_or("a member's compression is unknown")?;
                *slot = Some(Member { compression, bytes: content });
            }
            rest = after;
        }
        Ok(Self {
            control: control.ok_or("it has no control member")?,
            data: data.ok_or("it has no data member")?,
        })
    }

    /// The tar archive of control files.
    pub(crate) fn control(&self) -> std::io::Result<tar::Archive<Box<dyn Read + 'a>>> {
        self.control.archive()
    }

    /// The tar archive of the files to install.
    pub(crate) fn data(&self) -> std::io::Result<tar::Archive<Box<dyn Read + 'a>>> {
        self.data.archive()
    }
}

impl<'a> Member<'a> {
    fn archive(self) -> std::io::Result<tar::Archive<Box<dyn Read + 'a>>> {
        Ok(tar::Archive::new(self.compression.reader(self.bytes)?))
    }
}

/// The first member of `bytes`: its name, its content, and what follows it.
fn member(bytes: &[u8]) -> Result<(&str, &[u8], &[u8]), &'static str> {
    const CUT: &str = "a member is cut short";
    let header = bytes.get(..HEADER).ok_or(CUT)?;
    let text = std::str::from_utf8(header).map_err(|_| "a member's header is damaged")?;
    let name = text[..16].trim_end().trim_end_matches('/');
    let size: usize = text[48..58].trim_end().parse().map_err(|_| "a member's size is damaged")?;
    let end = HEADER.checked_add(size).ok_or(CUT)?;
    let content = bytes.get(HEADER..end).ok_or(CUT)?;
    Ok((name, content, bytes.get(end + size % 2..).unwrap_or(&[])))
}

#[cfg(test)]
mod tests {
    use super::Deb;

    fn ar(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = b"!<arch>\n".to_vec();
        for (name, content) in members {
            bytes.extend(
                format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, content.len()).bytes(),
            );
            bytes.extend(*content);
            bytes.extend(vec![b'\n'; content.len() % 2]);
        }
        bytes
    }

    #[test]
    fn members_are_found() {
        let whole = ar(&[
            ("debian-binary", b"2.0\n"),
            ("control.tar.gz", b"odd"),
            ("_extra", b"x"),
            ("data.tar.xz/", b""),
        ]);
        assert!(Deb::parse(&whole).is_ok());
    }

    #[test]
    fn damage_is_named() {
        let two: (&str, &[u8]) = ("debian-binary", b"2.0\n");
        let cut = ar(&[two, ("control.tar.gz", b"abcdef"), ("data.tar", b"abcdef")]);
        for (bytes, expect) in [
            (b"".to_vec(), "it is no ar archive"),
            (ar(&[("control.tar.gz", b"")]), "it is no package of format 2"),
            (ar(&[("debian-binary", b"3.0\n")]), "it is no package of format 2"),
            (ar(&[two, ("control.tar.gz", b"")]), "it has no data member"),
            (ar(&[two, ("data.tar", b"")]), "it has no control member"),
            (ar(&[two, ("data.tar.lzma", b"")]), "a member's compression is unknown"),
            (cut[..cut.len() - 1].to_vec(), "a member is cut short"),
            (cut[..100].to_vec(), "a member is cut short"),
        ] {
            assert_eq!(Deb::parse(&bytes).err(), Some(expect));
        }
    }
}
