//! What resolving takes from a lock: which commit a repository is had at, which version a name stands for.

use abx_reference::{Github, Name, Reference};

use super::{Lock, LockedBase, LockedKind, LockedTemplate};
use crate::BaseImage;

impl Lock {
    /// The commit that a repository is locked to for this reference, whichever sub-directory, and the tag that a
    /// range came to.
    pub(crate) fn commit(&self, wanted: &Github) -> Option<(&str, Option<&str>)> {
        let pins = |template: &&LockedTemplate| {
            let source = template.source.as_ref().unwrap_or(&template.reference);
            matches!(Reference::parse(source), Ok(Reference::Github(locked)) if locked.is_pinned_with(wanted))
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
