//! Images from a registry.
//!
//! A name becomes endpoints (a mirror, then the registry itself); the first that answers gives the manifest,
//! and the layers the store lacks are unpacked while they arrive. A layer enters the store only once the digest
//! of what came and the digest of what it unpacked to are both right.

mod auth;
mod blob;
mod endpoint;
mod manifest;
mod name;
mod platform;
mod pull;
mod pulled;
mod settings;

pub use name::RegistryName;
pub use platform::Platform;
pub use pull::pull;
pub use pulled::Pulled;
pub use settings::{Credentials, Registry, RegistrySettings};
