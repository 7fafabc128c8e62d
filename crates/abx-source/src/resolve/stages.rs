//! The templates that a Dockerfile's other stages begin with or copy from.

use abx_reference::Reference;
use abx_spec::Place;

use super::{Asked, climb};
use crate::dockerfile::{Origin, origin};
use crate::{Package, SourceContext, SourceError};

/// Resolves each to a lineage of its own. `path` leads to the package, the template itself first: none of them may be
/// asked for again.
pub(super) fn resolve(
    package: &mut Package,
    path: &[&Package],
    context: &SourceContext,
) -> Result<(), SourceError> {
    let Some(dockerfile) = package.dockerfile.as_deref() else { return Ok(()) };
    let root = dockerfile.chain().first().copied().unwrap_or_default();
    let needed = origin::needed(&dockerfile.file, &dockerfile.graph, root);
    let above: Vec<&Package> = path.iter().copied().chain([&*package]).collect();
    let (mut templates, mut images) = (Vec::new(), Vec::new());
    for needed in needed {
        let Origin::Template { reference, .. } = Origin::of(&needed.name, context) else {
            let locked = context.locked().and_then(|lock| lock.image(&needed.name)).cloned();
            images.push((needed.name, locked));
            continue;
        };
        let at = Place { file: needed.at.file, line: needed.at.line, column: needed.at.column };
        let asked = Asked { reference: Reference::parse(&reference)?, or_image: false, place: Some(at) };
        templates.push((needed.name, climb(asked, &above, context)?));
    }
    if let Some(dockerfile) = package.dockerfile.as_deref_mut() {
        dockerfile.templates = templates;
        dockerfile.images = images;
    }
    Ok(())
}
