//! Extended attributes on the way out.

use std::path::Path;

use rustix::fs::{lgetxattr, llistxattr};
use rustix::io::Errno;

use super::PackFault;
use crate::tarball::Xattr;

const CAPABILITY: &str = "security.capability";

/// Revisions of a file capability, in the top byte of its first word (little endian).
const REVISION_2: u8 = 0x02;
const REVISION_3: u8 = 0x03;

/// What a file carries.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// For the archive, in order of name.
    pub(super) kept: Vec<Xattr>,
    /// A directory that hides those below.
    pub(super) opaque: bool,
}

pub(super) fn read(path: &Path) -> Result<Found, PackFault> {
    let mut found = Found::default();
    for name in names(path)? {
        let Some(meaning) = overlay(&name) else {
            if crate::unpack::wanted_xattr(&name) {
                let value = value(path, &name)?;
                found.kept.push(Xattr { value: portable(&name, value), name });
            }
            continue;
        };
        match meaning {
            "opaque" => found.opaque |= value(path, &name)? == b"y",
            "redirect" | "metacopy" => return Err(PackFault::Shared { attribute: name }),
            // Bookkeeping: where a file was copied up from.
            _ => {}
        }
    }
    found.kept.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// The part of an overlayfs attribute behind its prefix; `user.` in mounts made inside a user namespace.
fn overlay(name: &str) -> Option<&str> {
    name.strip_prefix("trusted.overlay.").or_else(|| name.strip_prefix("user.overlay."))
}

/// A capability tied to root of the namespace that wrote it (revision 3) where that is root itself is the same
/// as an untied one (revision 2), which every reader knows.
fn portable(name: &str, mut value: Vec<u8>) -> Vec<u8> {
    let tied_to_root = value.len() == 24 && value[3] == REVISION_3 && value[20..] == [0; 4];
    if name == CAPABILITY && tied_to_root {
        value.truncate(20);
        value[3] = REVISION_2;
    }
    value
}

fn names(path: &Path) -> Result<Vec<String>, PackFault> {
    let list = grown(|buffer| llistxattr(path, buffer))?;
    // A name that is not text can be none that we keep.
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.filter_map(|name| String::from_utf8(name.to_owned()).ok()).collect())
}

fn value(path: &Path, name: &str) -> Result<Vec<u8>, PackFault> {
    grown(|buffer| lgetxattr(path, name, buffer))
}

/// Runs a call that fills a buffer, with a larger one for as long as it does not fit.
fn grown(call: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> Result<Vec<u8>, PackFault> {
    let mut buffer = vec![0; 256];
    loop {
        match call(&mut buffer) {
            Ok(count) => {
                buffer.truncate(count);
                return Ok(buffer);
            }
            Err(Errno::RANGE) => buffer.resize(buffer.len() * 4, 0),
            Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
            Err(error) => return Err(PackFault::Read(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_of_root_s_namespace_is_untied() {
        let mut tied = vec![1, 0, 0, REVISION_3];
        tied.extend([7; 16]);
        tied.extend([0; 4]);
        let untied = portable(CAPABILITY, tied.clone());
        assert_eq!((untied.len(), untied[3], untied[0]), (20, REVISION_2, 1));
        tied[20] = 9;
        assert_eq!(portable(CAPABILITY, tied.clone()), tied, "another namespace's stays tied");
    }
}
