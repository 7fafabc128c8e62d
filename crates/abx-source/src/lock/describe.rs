//! A lineage → what a lock says of it.

use std::io;

use abx_reference::Reference;
use abx_spec::Base;

use super::{HERE, LockedKind, LockedTemplate};
use crate::{BaseImage, Checkout, Lineage, Package, PackageRoot, SourceContext, SourceError, stored};

/// What a lineage that was resolved in `context` came to, the template itself first; `top` is how that is called.
///
/// # Errors
/// A package's files cannot be read.
pub fn describe(
    lineage: &Lineage,
    top: &str,
    context: &SourceContext,
) -> Result<Vec<LockedTemplate>, SourceError> {
    let mut templates = Vec::new();
    let mut reference = top.to_owned();
    for package in lineage.packages.iter().rev() {
        let template = member(package, &reference, lineage, context)?;
        let is_whole = matches!(template.kind, LockedKind::Local | LockedKind::File | LockedKind::Image);
        templates.push(template);
        match &package.spec.base {
            // Its image has all the others in it.
            Some(Base::From(at) | Base::Either(at)) if !is_whole => reference.clone_from(&at.value),
            _ => break,
        }
    }
    if templates.is_empty() {
        templates.push(blank(top, LockedKind::Image));
    }
    Ok(templates)
}

fn member(
    package: &Package,
    reference: &str,
    lineage: &Lineage,
    context: &SourceContext,
) -> Result<LockedTemplate, SourceError> {
    let mut template = blank(reference, LockedKind::Directory);
    template.name.clone_from(&package.name);
    match &package.root {
        PackageRoot::Stored { .. } => match &lineage.base {
            BaseImage::Stored { name, tag, .. } => {
                template.kind = LockedKind::Local;
                template.name.clone_from(name);
                template.tag = Some(tag.clone());
                template.digest = stored::image(&context.home, name, tag);
                return Ok(template);
            }
            BaseImage::Vendored { vendored, .. } => {
                template.kind = LockedKind::File;
                template.digest = Some(vendored.digest.to_string());
                return Ok(template);
            }
            BaseImage::Image { name, .. } => {
                template.kind = LockedKind::Image;
                template.digest = name.split_once('@').map(|(_, digest)| digest.to_owned());
                return Ok(template);
            }
            // Nothing built is below what begins with nothing.
            BaseImage::Scratch => return Ok(template),
        },
        PackageRoot::Embedded(_) => {
            template.kind = LockedKind::BuiltIn;
            template.tag = Some(package.spec.metadata.version.clone());
        }
        PackageRoot::Dir(root) => {
            if let Some(checkout) = context.checkout_of(root) {
                in_checkout(&mut template, checkout, root).map_err(SourceError::io("read", root))?;
            } else if reference == HERE {
                return Ok(template);
            }
        }
    }
    template.digest = Some(package.digest()?);
    Ok(template)
}

/// What a path in the child's repository means follows from the child's commit.
fn in_checkout(template: &mut LockedTemplate, checkout: &Checkout, root: &std::path::Path) -> io::Result<()> {
    let parsed = Reference::parse(&template.reference);
    if matches!(parsed, Ok(Reference::Local(_))) {
        return Ok(());
    }
    template.kind = LockedKind::Github;
    template.commit = Some(checkout.commit.clone());
    template.tag.clone_from(&checkout.chosen);
    if !matches!(parsed, Ok(Reference::Github(asked)) if checkout.serves(&asked)) {
        let subdirectory = root.strip_prefix(&checkout.root).map_err(io::Error::other)?;
        let (owner, repository) = (checkout.reference.owner(), checkout.reference.repository());
        let git_ref = checkout.reference.git_ref().map(|git_ref| format!("@{git_ref}")).unwrap_or_default();
        template.source = Some(format!("{owner}/{repository}//{}{git_ref}", subdirectory.display()));
    }
    Ok(())
}

fn blank(reference: &str, kind: LockedKind) -> LockedTemplate {
    LockedTemplate {
        reference: reference.to_owned(),
        kind,
        name: String::new(),
        tag: None,
        source: None,
        commit: None,
        digest: None,
    }
}
