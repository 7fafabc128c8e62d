//! A name or a digest in, an [`Image`] out.
//!
//! Layers are kept unpacked, in the form overlayfs mounts: a whiteout is a character device 0:0, an opaque
//! directory carries `trusted.overlay.opaque=y`, ids on disk are the image's own. In reading order:
//!
//! - [`image`]: what an image is; [`config`]: helpers on its configuration,
//! - [`store`]: layers, images and name tags on disk,
//! - [`unpack()`]: a layer's archive into the store's form,
//! - [`pack()`]: a layer back into an archive,
//! - [`export`]: an image as a file other tools load, [`Layout`] as members of one; `import`: back into the store,
//! - [`registry`]: names, settings, and [`pull`],
//! - [`http`]: the one HTTP client configuration; [`tarball`]: tar as a stream, for other archives too.
//!
//! **Architecture Invariant:** this crate reads no environment variable and starts no process; mirrors,
//! credentials, proxies and authorities reach it as values.

pub mod config;
pub mod digest;
pub mod error;
pub mod export;
pub mod http;
pub mod image;
mod import;
mod layout;
mod oci;
pub mod pack;
#[doc(hidden)]
pub mod probe;
pub mod registry;
pub mod store;
pub mod tarball;
pub mod unpack;

pub use digest::Digest;
pub use error::ImageError;
pub use export::{ExportOptions, Exported};
pub use image::{Healthcheck, Image, ImageConfig, ImageId, LayerId, Origin};
pub use import::Imported;
pub use layout::Layout;
pub use pack::{PackFault, PackOptions, Packed, pack};
pub use registry::{
    CredentialSource, Credentials, OpenUploads, Platform, Pulled, Pushed, Registry, RegistryName,
    RegistrySettings, lookup, pull, push,
};
pub use store::{
    ImageStore, LayerRecord, SYNC_HELPER, StagedLayer, StoredImage, StoredLayer, Swept, Tag, run_sync,
};
pub use tarball::TarFault;
pub use unpack::{LayerFault, Unpacked, unpack};
