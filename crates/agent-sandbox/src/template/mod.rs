//! Templates: one file a verb.

mod build;
pub mod cache;
mod explain;
mod export;
pub mod info;
mod init;
mod install;
mod lineage;
mod list;
mod lock;
mod matching;
mod migrate;
mod outdated;
mod pull;
mod push;
mod resolve;
mod search;
mod test;
mod validate;
mod vendor;

pub use abx_build::BuildSecret;
pub use abx_source::{Finding, Report};
pub use build::{BuildRequest, BuiltTemplate, SecretPlace, SecretSource, build};
pub(crate) use build::{BuiltLineage, build_lineage};
pub use explain::{Explanation, Origin, explain};
pub use export::export;
pub use info::{Info, info};
pub use init::{Begun, InitRequest, init};
pub use install::{Installed, install};
pub(crate) use lineage::{fetch, lineage, lineage_and_source};
pub use list::{Listed, list};
pub use lock::{Change, LockRequest, Locked, lock};
pub use matching::{Matched, matching};
pub use migrate::{Migration, migrate};
pub use outdated::{Outdated, outdated};
pub use pull::{PulledTemplate, pull};
pub use push::{OpenUploads, PushedTemplate, push};
pub use resolve::{Resolved, resolve};
pub use search::{Found, IndexOptions, SearchRequest, Searched, search};
pub use test::{FileReport, Mismatch, Outcome, TestReport, TestRequest, TestSandboxes, TestWatcher, test};
pub use validate::validate;
pub use vendor::{VendoredFile, vendor};

/// The JSON Schema of a `template.yaml`, for editors.
pub use abx_spec::schema::schema;
