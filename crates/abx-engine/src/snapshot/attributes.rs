//! Extended attributes: those of a layer, with the image's ids.

use std::io;
use std::path::Path;

use rustix::fs::{XattrFlags, lgetxattr, llistxattr, lsetxattr};
use rustix::io::Errno;

/// Copies the attributes that a layer has.
pub(super) fn copy(from: &Path, to: &Path, base: u32) -> io::Result<()> {
    for name in names(from)? {
        if let Some(value) = value(from, &name)?
            && let Some(value) = shifted(&name, value, base)
        {
            lsetxattr(to, name.as_str(), &value, XattrFlags::empty())?;
        }
    }
    Ok(())
}

fn names(path: &Path) -> io::Result<Vec<String>> {
    let mut buffer = vec![0; 64 << 10];
    let length = match llistxattr(path, &mut buffer[..]) {
        // A file system without them.
        Err(Errno::OPNOTSUPP) => 0,
        length => length?,
    };
    let names = buffer[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect())
}

fn value(path: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = vec![0; 64 << 10];
    match lgetxattr(path, name, &mut buffer[..]) {
        Ok(length) => {
            buffer.truncate(length);
            Ok(Some(buffer))
        }
        // Gone, or of a namespace that is nobody's here.
        Err(Errno::NODATA | Errno::OVERFLOW) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// The value as an image has it; `None` for what only this overlay understands.
fn shifted(name: &str, value: Vec<u8>, base: u32) -> Option<Vec<u8>> {
    match name {
        "trusted.overlay.opaque" => Some(value),
        "security.capability" => Some(capability(value, base)),
        "system.posix_acl_access" | "system.posix_acl_default" => Some(list(value, base)),
        name if name.starts_with("user.") => Some(value),
        _ => None,
    }
}

/// File capabilities of root inside (`struct vfs_ns_cap_data`, whose last word is root's id) become those of the
/// image's root (`struct vfs_cap_data`).
fn capability(mut value: Vec<u8>, base: u32) -> Vec<u8> {
    const REVISION_2: u32 = 0x0200_0000;
    const REVISION_3: u32 = 0x0300_0000;
    const REVISION: u32 = 0xff00_0000;
    let word = |value: &[u8], at: usize| value.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    if let (Some(head), Some(root)) = (word(&value, 0), word(&value, 20))
        && head & REVISION == REVISION_3
        && root == base
    {
        value.truncate(20);
        value[..4].copy_from_slice(&(head & !REVISION | REVISION_2).to_le_bytes());
    }
    value
}

/// An access control list: a version, then entries of tag, permissions (16 bits each) and id.
fn list(mut value: Vec<u8>, base: u32) -> Vec<u8> {
    const USER: u16 = 2;
    const GROUP: u16 = 8;
    for entry in value.get_mut(4..).unwrap_or_default().chunks_exact_mut(8) {
        let tag = u16::from_le_bytes([entry[0], entry[1]]);
        if tag == USER || tag == GROUP {
            let id = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
            entry[4..].copy_from_slice(&id.saturating_sub(base).to_le_bytes());
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn ids_in_attributes_become_the_images() {
        let base = 0x10_0000;
        let rows = [
            ("user.a", vec![1], Some(vec![1])),
            ("trusted.overlay.opaque", b"y".to_vec(), Some(b"y".to_vec())),
            ("trusted.overlay.origin", vec![1], None),
            ("security.selinux", vec![1], None),
            (
                "security.capability",
                words(&[0x0300_0001, 0x400, 0, 0, 0, base]),
                Some(words(&[0x0200_0001, 0x400, 0, 0, 0])),
            ),
            (
                "security.capability",
                words(&[0x0200_0001, 0x400, 0, 0, 0]),
                Some(words(&[0x0200_0001, 0x400, 0, 0, 0])),
            ),
            (
                "system.posix_acl_access",
                words(&[2, 0x0007_0001, u32::MAX, 0x0005_0002, base + 33, 0x0005_0008, base + 44]),
                Some(words(&[2, 0x0007_0001, u32::MAX, 0x0005_0002, 33, 0x0005_0008, 44])),
            ),
        ];
        for (name, value, expect) in rows {
            assert_eq!(shifted(name, value, base), expect, "{name}");
        }
    }
}
