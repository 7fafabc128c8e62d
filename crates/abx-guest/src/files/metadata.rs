//! What uploads attach to files: extended attributes `user.e2b.<key>`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use http::HeaderMap;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use crate::http::HttpError;

const PREFIX: &str = "user.e2b.";
const HEADER: &str = "x-metadata-";
const MAX_KEY: usize = 246;
const MAX_TOTAL: usize = 4096;

/// The `X-Metadata-<key>` headers of a request.
pub(crate) fn of_headers(headers: &HeaderMap) -> Result<BTreeMap<String, String>, HttpError> {
    let mut metadata = BTreeMap::new();
    let mut total = 0;
    for (name, value) in headers {
        let Some(key) = name.as_str().strip_prefix(HEADER) else { continue };
        let value = value.to_str().map_err(|_| invalid(format!("value of '{key}' is not printable text")))?;
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(invalid(format!("key '{key}' must have 1 to {MAX_KEY} bytes")));
        }
        total += key.len() + value.len();
        metadata.insert(key.to_owned(), value.to_owned());
    }
    if total > MAX_TOTAL {
        return Err(invalid(format!("{total} bytes are over the limit of {MAX_TOTAL}")));
    }
    Ok(metadata)
}

fn invalid(what: String) -> HttpError {
    HttpError::bad_request(format!("invalid metadata: {what}"))
}

/// Makes `metadata` all that is attached to the file.
pub(crate) fn replace(file: &File, metadata: &BTreeMap<String, String>) -> io::Result<()> {
    for name in attached(file) {
        let key = &name[PREFIX.len()..];
        if !metadata.contains_key(key) {
            fremovexattr(file, name.as_str())?;
        }
    }
    for (key, value) in metadata {
        fsetxattr(file, format!("{PREFIX}{key}"), value.as_bytes(), XattrFlags::empty())?;
    }
    Ok(())
}

/// What is attached to the file at `path`; nothing where it cannot have or show any.
pub(crate) fn read(path: &Path) -> BTreeMap<String, String> {
    // A link has no such attributes, and opening a pipe or device may block or act.
    if !path.symlink_metadata().is_ok_and(|status| status.is_file() || status.is_dir()) {
        return BTreeMap::new();
    }
    let Ok(file) = File::open(path) else { return BTreeMap::new() };
    let mut metadata = BTreeMap::new();
    for name in attached(&file) {
        let mut value = vec![0; MAX_TOTAL];
        if let Ok(length) = fgetxattr(&file, name.as_str(), &mut value[..]) {
            value.truncate(length);
            metadata.insert(name[PREFIX.len()..].to_owned(), String::from_utf8_lossy(&value).into_owned());
        }
    }
    metadata
}

fn attached(file: &File) -> Vec<String> {
    let mut names = vec![0_u8; 1024];
    let length = loop {
        match flistxattr(file, &mut names[..]) {
            Ok(length) => break length,
            Err(Errno::RANGE) if names.len() < 64 << 10 => names.resize(names.len() * 2, 0),
            Err(_) => return Vec::new(),
        }
    };
    let text = String::from_utf8_lossy(&names[..length]);
    text.split('\0').filter(|name| name.starts_with(PREFIX)).map(str::to_owned).collect()
}
