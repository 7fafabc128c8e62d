//! Reference in, [`Lineage`] out: the package it names and every package it inherits from.
//!
//! In reading order: [`context`] (where to look), [`resolve`](mod@resolve) (the one loop over `base.from`),
//! [`lineage`] (its result), [`package`] (one member: its specification and its files), then the places a
//! package comes from: [`builtin`] (embedded in the program), [`local`] (a directory), `stored` (images that
//! were given a name here) with [`kept`] (the files their packages had). [`validate`](mod@validate) looks closer than a build needs; [`digest`] says what
//! identifies a package; [`error`] what can go wrong.
//!
//! **Architecture Invariant:** nothing outside [`SourceContext::home`] is written, and a package's own
//! folder never is.

pub mod builtin;
mod check;
pub mod context;
pub mod digest;
pub mod error;
pub mod kept;
pub mod lineage;
pub mod local;
pub mod package;
pub mod resolve;
mod stored;
pub mod validate;

pub use builtin::{Builtin, EmbeddedFile, builtins};
pub use context::SourceContext;
pub use error::SourceError;
pub use kept::{check_local_name, keep};
pub use lineage::{BaseImage, Lineage};
pub use package::{HEALTHCHECK, Package, PackageRoot};
pub use resolve::{resolve, resolve_reference};
pub use validate::{Report, validate};
