//! Templates: one file a verb.

mod build;
mod export;
mod lineage;
mod list;
mod resolve;
mod validate;

pub use build::build;
pub(crate) use build::build_lineage;
pub use export::export;
pub(crate) use lineage::{fetch, lineage};
pub use list::{Listed, list};
pub use resolve::{Resolved, resolve};
pub use validate::validate;
