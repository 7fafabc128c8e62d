//! The path of a member.

use super::{ArchiveFault, Caps, Layout};

/// A path, taken apart.
pub(super) struct Member<'p> {
    /// The first component; empty where there is no top folder.
    pub(super) top: &'p [u8],
    pub(super) name: Name,
}

/// What is below the top folder.
pub(super) enum Name {
    /// Nothing: it is the top folder itself, or the root.
    Top,
    /// Components with one `/` between them, none of them empty, `.` or `..`.
    Path(String),
    /// Not UTF-8, as well as it can be shown.
    NotText(String),
}

impl<'p> Member<'p> {
    pub(super) fn parse(path: &'p [u8], caps: &Caps, layout: Layout) -> Result<Self, ArchiveFault> {
        let shown = || String::from_utf8_lossy(&path[..path.len().min(200)]).into_owned();
        let mut components = Vec::new();
        for component in path.split(|byte| *byte == b'/') {
            match component {
                b"" | b"." => {}
                b".." => return Err(ArchiveFault::Path { path: shown() }),
                component if component.contains(&0) => return Err(ArchiveFault::Path { path: shown() }),
                component => components.push(component),
            }
        }
        let has_top = layout == Layout::TopFolder;
        if path.first() == Some(&b'/') || (has_top && components.is_empty()) {
            return Err(ArchiveFault::Path { path: shown() });
        }
        let below = components.split_off(usize::from(has_top));
        if below.iter().any(|component| component.len() > caps.component) {
            return Err(ArchiveFault::Cap { what: "bytes in a file's name", cap: caps.component as u64 });
        }
        let joined = below.join(&b'/');
        if joined.len() > caps.path {
            return Err(ArchiveFault::Cap { what: "bytes in a path", cap: caps.path as u64 });
        }
        let name = match String::from_utf8(joined) {
            Ok(name) if name.is_empty() => Name::Top,
            Ok(name) => Name::Path(name),
            Err(error) => Name::NotText(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        };
        Ok(Self { top: components.first().copied().unwrap_or_default(), name })
    }
}
