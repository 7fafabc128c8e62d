//! Names in archives.

use super::LayerFault;

const WHITEOUT: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";

/// A clean path inside the layer: no `.`, no `..`, no empty component, not absolute, at least one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    path: Vec<u8>,
    /// Where the last component begins.
    last: usize,
}

/// What a name beginning with `.wh.` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whiteout<'a> {
    /// This name of the layers below is gone.
    Hides(&'a [u8]),
    /// Everything the layers below have in this directory is gone.
    Opaque,
    /// Nothing to us.
    Foreign,
}

impl Name {
    /// Cleans a path: leading slashes and `.` go. `None` for the root itself. `..` is refused rather than
    /// followed: no tool writes it, and what it would mean depends on links.
    pub(super) fn parse(raw: &[u8]) -> Result<Option<Self>, LayerFault> {
        let mut path = Vec::with_capacity(raw.len());
        let mut last = 0;
        for component in raw.split(|byte| *byte == b'/') {
            match component {
                b"" | b"." => continue,
                b".." => return Err(LayerFault::Path),
                component if component.contains(&0) => return Err(LayerFault::Path),
                component => {
                    if !path.is_empty() {
                        path.push(b'/');
                    }
                    last = path.len();
                    path.extend_from_slice(component);
                }
            }
        }
        match (path.is_empty(), raw.is_empty()) {
            (false, _) => Ok(Some(Self { path, last })),
            (true, false) => Ok(None),
            (true, true) => Err(LayerFault::Path),
        }
    }

    pub(super) fn path(&self) -> &[u8] {
        &self.path
    }

    /// The directory it lies in; empty for the root.
    pub(super) fn parent(&self) -> &[u8] {
        &self.path[..self.last.saturating_sub(1)]
    }

    /// The last component.
    pub(super) fn last(&self) -> &[u8] {
        &self.path[self.last..]
    }

    /// What the name means to layers below, if anything.
    pub(super) fn whiteout(&self) -> Result<Option<Whiteout<'_>>, LayerFault> {
        let Some(hidden) = self.last().strip_prefix(WHITEOUT) else { return Ok(None) };
        match hidden {
            _ if self.last() == OPAQUE => Ok(Some(Whiteout::Opaque)),
            b"" | b"." | b".." => Err(LayerFault::Path),
            hidden if hidden.starts_with(WHITEOUT) => Ok(Some(Whiteout::Foreign)),
            hidden => Ok(Some(Whiteout::Hides(hidden))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cleaned_or_refused() {
        let clean = |raw: &str| Name::parse(raw.as_bytes()).map(|name| name.map(|name| name.path.clone()));
        for (raw, expected) in [
            ("a/b", Some("a/b")),
            ("./a//b/", Some("a/b")),
            ("/etc/passwd", Some("etc/passwd")),
            ("./", None),
            ("/", None),
        ] {
            assert_eq!(clean(raw).expect(raw), expected.map(|text| text.as_bytes().to_vec()), "{raw}");
        }
        for raw in ["", "..", "a/../b", "../a", "a\0b"] {
            assert!(clean(raw).is_err(), "{raw:?}");
        }
    }

    #[test]
    fn markers_are_told_from_names() {
        let name = |raw: &str| Name::parse(raw.as_bytes()).expect("clean").expect("not the root");
        assert_eq!(name("d/.wh.x").whiteout().expect("ok"), Some(Whiteout::Hides(b"x")));
        assert_eq!(name("d/.wh..wh..opq").whiteout().expect("ok"), Some(Whiteout::Opaque));
        assert_eq!(name("d/.wh..wh.plnk").whiteout().expect("ok"), Some(Whiteout::Foreign));
        assert_eq!(name("d/x.wh.").whiteout().expect("ok"), None);
        for raw in ["d/.wh...", "d/.wh..", "d/.wh."] {
            assert!(name(raw).whiteout().is_err(), "{raw}");
        }
        assert_eq!(name("a/b/c").parent(), b"a/b");
        assert_eq!(name("a").parent(), b"");
        assert_eq!(name("a/b/c").last(), b"c");
    }
}
