//! A tar stream of a sandbox as a folder of this machine.

use std::io::{self, Read};
use std::path::Path;

use tar::{Archive, EntryType};

use super::TransferError;

/// Lays files, folders and links down in `root`, which is made where absent; nothing lands outside it, not through
/// a link either. Everything belongs to the caller and has no special bits. Returns how many bytes
/// of content it was and what was left out.
pub(super) fn unpack(
    stream: impl Read,
    root: &Path,
    source: &str,
) -> Result<(u64, Vec<String>), TransferError> {
    std::fs::create_dir_all(root).map_err(TransferError::local("create", root))?;
    let damaged =
        |source_error: io::Error| TransferError::Damaged { path: source.to_owned(), source: source_error };
    let mut archive = Archive::new(stream);
    archive.set_preserve_ownerships(false);
    archive.set_preserve_permissions(false);
    archive.set_unpack_xattrs(false);
    archive.set_overwrite(true);
    let (mut bytes, mut skipped) = (0, Vec::new());
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let wanted = matches!(
            entry.header().entry_type(),
            EntryType::Regular
                | EntryType::Continuous
                | EntryType::Directory
                | EntryType::Symlink
                | EntryType::Link
                | EntryType::GNUSparse
        );
        let landed =
            wanted && entry.unpack_in(root).map_err(TransferError::local("write", root.join(&name)))?;
        if landed {
            bytes += entry.size();
        } else {
            skipped.push(name);
        }
    }
    Ok((bytes, skipped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tar::{Builder, Header};

    fn archive(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, kind, content) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o6755);
            let bytes = name.as_bytes();
            header.as_old_mut().name[..bytes.len()].copy_from_slice(bytes);
            let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
            header.set_size(if is_link { 0 } else { content.len() as u64 });
            if is_link {
                header.set_link_name_literal(content).expect("link");
            }
            header.set_cksum();
            builder.append(&header, if is_link { &[][..] } else { content.as_bytes() }).expect("entry");
        }
        builder.into_inner().expect("archive")
    }

    #[test]
    fn nothing_lands_outside_the_folder() {
        let dir = tempfile::tempdir().expect("tempdir");
        let root = dir.path().join("root");
        for hostile in [
            archive(&[("../up", EntryType::Regular, "x")]),
            archive(&[("a/../../up", EntryType::Regular, "x")]),
            archive(&[("link", EntryType::Symlink, ".."), ("link/up", EntryType::Regular, "x")]),
            archive(&[("link", EntryType::Symlink, "../up"), ("link", EntryType::Regular, "x")]),
            archive(&[("up", EntryType::Link, "../../../../../../etc/passwd")]),
            archive(&[("null", EntryType::Char, "")]),
        ] {
            let _ = unpack(hostile.as_slice(), &root, "x");
            assert_eq!(std::fs::read_dir(dir.path()).expect("list").count(), 1);
            assert!(!root.join("null").exists());
            std::fs::remove_dir_all(&root).expect("clean");
        }
    }

    #[test]
    fn special_bits_are_dropped_and_what_is_left_out_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("tempdir");
        let stream = archive(&[("tool", EntryType::Regular, "x"), ("pipe", EntryType::Fifo, "")]);
        let (bytes, skipped) = unpack(stream.as_slice(), dir.path(), "x").expect("unpacked");
        assert_eq!((bytes, skipped), (1, vec!["pipe".to_owned()]));
        let mode = dir.path().join("tool").metadata().expect("tool").permissions().mode();
        assert_eq!(mode & 0o7700, 0o700);
    }

    #[test]
    fn a_stream_that_is_no_archive_is_an_error() {
        let dir = tempfile::tempdir().expect("tempdir");
        let result = unpack(&[1_u8; 1024][..], dir.path(), "x");
        assert!(matches!(result, Err(TransferError::Damaged { .. })), "{result:?}");
    }
}
