//! A template with its whole lineage and its image in one file, for a machine that reaches nothing.
//!
//! The file is a tar that is not compressed (its layers are), in this order:
//!
//! ```text
//! abx-vendor.json       the format's version, the lineage, the digest of the image's manifest
//! template.lock         what the lineage was locked to, where it was
//! packages/<n>-<name>/  the files of each package, root first; for reading
//! oci-layout, index.json, manifest.json, blobs/sha256/…   the image, as any container tool loads it
//! ```
//!
//! Everything that is used follows from the first member: it holds the texts of the lineage, and the digest that the
//! image is checked against. The same template gives the same bytes.

mod error;
mod manifest;
mod write;

pub use error::VendoredError;
pub(crate) use manifest::MANIFEST;
pub use manifest::Vendored;
pub use write::{VendorRequest, write};
