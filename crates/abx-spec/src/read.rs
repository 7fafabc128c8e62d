//! Tree → [`Spec`](crate::Spec): one reader a section.

mod build;
mod full;
mod keys;
mod reader;
mod sandbox;
mod shorthand;
mod value;

pub(crate) use reader::Reader;

use crate::problem::Problem;
use crate::spec::Spec;
use crate::yaml::{Node, Value};

/// Reads a whole file, in whichever of the two shapes it has.
pub(crate) fn root(reader: &mut Reader<'_>, root: &Node) -> Spec {
    let Value::Map(entries) = &root.value else {
        let problem = if root.is_null() { Problem::Empty } else { Problem::NotMap { found: root.kind() } };
        reader.fault(problem, root.span);
        return Spec::default();
    };
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    let base_is_text =
        entries.iter().any(|entry| entry.key == "base" && matches!(entry.node.value, Value::Scalar(_)));
    let is_shorthand = !has("metadata")
        && (has("name") || base_is_text || has("packages") || has("files") || has("entrypoint"));
    if is_shorthand { shorthand::read(reader, root) } else { full::read(reader, root) }
}
