//! What callers are told of a file.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use abx_protocol::filesystem::{EntryInfo, FileType};
use abx_protocol::json::Timestamp;

use super::metadata;
use crate::users::Names;

/// Describes what is at `path` now.
pub(crate) fn describe(path: &Path, names: &Names) -> io::Result<EntryInfo> {
    let status = path.symlink_metadata()?;
    let mut file_type = kind(status.file_type());
    let mut mode = status.mode();
    let mut symlink_target = None;
    if status.is_symlink() {
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Ok(target) = target.metadata() {
            file_type = kind(target.file_type());
            mode = target.mode();
        }
        symlink_target = Some(target.to_string_lossy().into_owned());
    }
    Ok(EntryInfo {
        name: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        r#type: file_type.into(),
        path: path.to_string_lossy().into_owned(),
        size: status.size().cast_signed(),
        mode: mode & 0o777,
        permissions: permissions(&status),
        owner: names.user(status.uid()),
        group: names.group(status.gid()),
        modified_time: Some(Timestamp { seconds: status.mtime(), nanos: status.mtime_nsec() as i32 }),
        symlink_target,
        metadata: metadata::read(path),
    })
}

fn kind(file_type: std::fs::FileType) -> FileType {
    match file_type {
        kind if kind.is_file() => FileType::File,
        kind if kind.is_dir() => FileType::Directory,
        kind if kind.is_symlink() => FileType::Symlink,
        _ => FileType::Unspecified,
    }
}

/// Letters for what it is and which special bits it has, `-` where there is none, then the nine of `ls`.
fn permissions(status: &Metadata) -> String {
    let kind = status.file_type();
    let mode = status.mode();
    let marks = [
        (kind.is_dir(), "d"),
        (kind.is_symlink(), "L"),
        (kind.is_block_device() || kind.is_char_device(), "D"),
        (kind.is_fifo(), "p"),
        (kind.is_socket(), "S"),
        (mode & 0o4000 != 0, "u"),
        (mode & 0o2000 != 0, "g"),
        (kind.is_char_device(), "c"),
        (mode & 0o1000 != 0, "t"),
    ];
    let mut text: String = marks.iter().filter(|(set, _)| *set).map(|(_, mark)| *mark).collect();
    if text.is_empty() {
        text.push('-');
    }
    for (place, letter) in "rwxrwxrwx".chars().enumerate() {
        text.push(if mode >> (8 - place) & 1 == 1 { letter } else { '-' });
    }
    text
}
