//! Tree → [`Spec`](crate::Spec): one reader a section.

mod build;
#[cfg(test)]
mod document;
mod egress;
mod full;
mod hints;
mod index;
pub(crate) mod keys;
mod older;
mod reader;
mod sandbox;
mod shorthand;
mod suite;
mod value;

pub(crate) use index::read as read_index;
pub(crate) use reader::Reader;
pub(crate) use suite::read as read_suite;
pub(crate) use value::join;

use crate::problem::Problem;
use crate::spec::Spec;
use crate::yaml::{Entry, Node, Value};

/// Reads a whole file, in whichever of the two shapes it has.
pub(crate) fn root(reader: &mut Reader<'_>, root: &Node) -> Spec {
    let Value::Map(entries) = &root.value else {
        let problem = if root.is_null() { Problem::Empty } else { Problem::NotMap { found: root.kind() } };
        reader.fault(problem, root.span);
        return Spec::default();
    };
    if is_shorthand(entries) { shorthand::read(reader, root) } else { full::read(reader, root) }
}

/// Whether a file has the flat shorthand's shape; every other file is taken for the full form.
pub(crate) fn is_shorthand(entries: &[Entry]) -> bool {
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    let base_is =
        |kind: fn(&Value) -> bool| entries.iter().any(|entry| entry.key == "base" && kind(&entry.node.value));
    let is_full =
        keys::FULL_ONLY.iter().any(|key| has(key)) || base_is(|value| matches!(value, Value::Map(_)));
    !is_full
        && (keys::FLAT_ONLY.iter().any(|key| has(key)) || base_is(|value| matches!(value, Value::Scalar(_))))
}
