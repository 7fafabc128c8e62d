//! Names and tags of local templates.

use std::path::PathBuf;
use std::time::SystemTime;

use abx_core::fs::write_atomic;

use super::{ImageStore, read_optional};
use crate::digest::well_formed;
use crate::{ImageError, ImageId};

/// A name's tag and the image it points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    pub name: String,
    pub tag: String,
    pub image: ImageId,
    /// When it was last set.
    pub set: SystemTime,
}

impl ImageStore {
    /// Points `name:tag` to an image; an older meaning is replaced.
    pub fn tag(&self, name: &str, tag: &str, id: &ImageId) -> Result<(), ImageError> {
        let path = self.tag_path(name, tag);
        write_atomic(&path, id.0.as_bytes()).map_err(ImageError::store("write", &path))
    }

    /// The image `name:tag` points to; `None` where nothing that is an id is kept for it.
    pub fn lookup(&self, name: &str, tag: &str) -> Result<Option<ImageId>, ImageError> {
        let path = self.tag_path(name, tag);
        let bytes = read_optional(&path).map_err(ImageError::store("read", &path))?;
        let id = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|id| well_formed(id));
        Ok(id.map(ImageId))
    }

    /// Every name and tag, in order.
    pub fn list(&self) -> Result<Vec<Tag>, ImageError> {
        let root = self.home().store("names");
        let mut tags = Vec::new();
        for entry in walkdir::WalkDir::new(&root).min_depth(2).max_depth(2).sort_by_file_name() {
            let entry = match entry {
                Err(error) if is_absent(&error) => continue,
                entry => entry.map_err(|error| ImageError::store("list", &root)(error.into()))?,
            };
            tags.extend(self.read_tag(entry.path())?);
        }
        Ok(tags)
    }

    /// The tag in one file; `None` for a stranger's file, or one that has just gone.
    fn read_tag(&self, path: &std::path::Path) -> Result<Option<Tag>, ImageError> {
        let part = |path: Option<&std::path::Path>| {
            path.and_then(|path| path.file_name()).and_then(|name| name.to_str()).and_then(unescape)
        };
        let (Some(tag), Some(name)) = (part(Some(path)), part(path.parent())) else { return Ok(None) };
        let Some(image) = self.lookup(&name, &tag)? else { return Ok(None) };
        let set = std::fs::metadata(path).and_then(|metadata| metadata.modified());
        Ok(Some(Tag { name, tag, image, set: set.unwrap_or(SystemTime::UNIX_EPOCH) }))
    }

    fn tag_path(&self, name: &str, tag: &str) -> PathBuf {
        self.home().store("names").join(escape(name)).join(escape(tag))
    }
}

fn is_absent(error: &walkdir::Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Any text as one file name that is neither hidden nor a way out: `%` and two digits for each unusual byte.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => escaped.push(byte as char),
            b'.' if index > 0 => escaped.push('.'),
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

/// The text [`escape`] made; `None` for a name it cannot have made.
pub(super) fn unescape(escaped: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).ok()?;
    (escape(&text) == escaped).then_some(text)
}
