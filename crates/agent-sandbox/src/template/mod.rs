//! Templates: one file a verb.

mod build;
mod export;
mod lineage;
mod list;
mod lock;
mod migrate;
mod resolve;
mod validate;
mod vendor;

pub use build::build;
pub(crate) use build::build_lineage;
pub use export::export;
pub(crate) use lineage::{fetch, lineage};
pub use list::{Listed, list};
pub use lock::{Change, LockRequest, Locked, lock};
pub use migrate::{Migration, migrate};
pub use resolve::{Resolved, resolve};
pub use validate::validate;
pub use vendor::{VendoredFile, vendor};

/// The JSON Schema of a `template.yaml`, for editors.
pub use abx_spec::schema::schema;
