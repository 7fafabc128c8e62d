//! What resolving takes from a lock: which commit a repository is had at, which version a name stands for.

use abx_reference::github::{GitRef, LATEST};
use abx_reference::{Github, Name, Reference};

use super::{Lock, LockedBase, LockedKind, LockedTemplate};
use crate::BaseImage;

impl Lock {
    /// The commit that a repository is locked to for this reference, whichever sub-directory, and the tag that a
    /// range came to.
    pub(crate) fn commit(&self, wanted: &Github) -> Option<(&str, Option<&str>)> {
        let pins = |template: &&LockedTemplate| {
            let source = template.source.as_ref().unwrap_or(&template.reference);
            matches!(Reference::parse(source), Ok(Reference::Github(locked)) if is_same(&locked, wanted))
        };
        let template = self.templates.iter().filter(|template| template.commit.is_some()).find(pins)?;
        Some((template.commit.as_deref()?, template.tag.as_deref()))
    }

    /// What the image at the bottom is locked to.
    pub(crate) fn base_of(&self, base: &BaseImage) -> Option<&LockedBase> {
        let BaseImage::Image { name, .. } = base else { return None };
        self.base.as_ref().filter(|locked| locked.image() == name)
    }

    /// The one version that a name is locked to.
    pub(crate) fn name(&self, wanted: &Name) -> Option<Name> {
        let pins = |template: &&LockedTemplate| {
            matches!(template.kind, LockedKind::BuiltIn | LockedKind::Local)
                && matches!(Reference::parse(&template.reference), Ok(Reference::Name(name)) if name == *wanted)
        };
        let template = self.templates.iter().find(pins)?;
        Name::tagged(&template.name, template.tag.as_deref()?).ok()
    }
}

/// The sub-directory plays a part where it has a say in which tag is chosen.
fn is_same(locked: &Github, wanted: &Github) -> bool {
    let has_say = match wanted.git_ref() {
        Some(GitRef::Range(_)) => true,
        Some(GitRef::Name(name)) => name == LATEST,
        None => false,
    };
    locked.owner().eq_ignore_ascii_case(wanted.owner())
        && locked.repository().eq_ignore_ascii_case(wanted.repository())
        && locked.git_ref() == wanted.git_ref()
        && (!has_say || locked.subdirectory() == wanted.subdirectory())
}
