//! Text → a tree in which every node knows its place.

mod load;
mod node;
mod slips;

pub(crate) use load::{load, load_up_to};
pub(crate) use node::{Entry, Meaning, Node, Scalar, Span, Value};
