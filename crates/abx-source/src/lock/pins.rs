//! What resolving takes from a lock: which commit a repository is had at, which version a name stands for.

use abx_reference::{Github, Name, Reference};

use super::{Lock, LockedBase, LockedKind, LockedTemplate};
use crate::{BaseImage, official};

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

    /// The directory of a repository that a name is locked to, whatever a catalog says of it now.
    pub(crate) fn repository(&self, wanted: &Name) -> Option<Github> {
        let is_it = |template: &&LockedTemplate| {
            template.kind == LockedKind::Github
                && matches!(Reference::parse(&template.reference), Ok(Reference::Name(name)) if name == *wanted)
        };
        match Reference::parse(self.templates.iter().find(is_it)?.source.as_ref()?) {
            Ok(Reference::Github(github)) => Some(github),
            _ => None,
        }
    }

    /// What the image at the bottom is locked to.
    pub(crate) fn base_of(&self, base: &BaseImage) -> Option<&LockedBase> {
        let BaseImage::Image { name, .. } = base else { return None };
        self.image(name)
    }

    /// What an image is locked to, wherever in the lineage it is used.
    pub fn image(&self, name: &str) -> Option<&LockedBase> {
        self.base.iter().chain(&self.images).find(|locked| locked.is_of(name))
    }

    /// Whether a tag of the official repository is the release that a built-in template is locked to.
    pub(crate) fn has_release(&self, git_ref: &str) -> bool {
        self.templates.iter().filter(|template| template.kind == LockedKind::BuiltIn).any(|template| {
            template.tag.as_deref().is_some_and(|version| official::tag(&template.name, version) == git_ref)
        })
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
