//! Images from a registry, and to one.
//!
//! A name becomes endpoints (a mirror, then the registry itself); the first that answers gives the manifest,
//! and the layers the store lacks are unpacked while they arrive. A layer enters the store only once the digest
//! of what came and the digest of what it unpacked to are both right. The other way, layers are packed and compressed
//! while they are sent. Nobody's log-in is looked for before a registry asks for one.

mod address;
mod ask;
mod blob;
mod challenge;
mod client;
mod credentials;
pub mod docker_config;
mod endpoint;
mod login;
mod lookup;
mod manifest;
mod name;
mod open_uploads;
mod packing;
mod partial;
mod platform;
mod pull;
mod pulled;
mod push;
mod settings;
mod tags;
mod upload;

pub(crate) use challenge::Challenge;
pub use credentials::{CredentialSource, Credentials};
pub use lookup::{Described, describe, digest, lookup};
pub use name::RegistryName;
pub use open_uploads::OpenUploads;
pub use platform::Platform;
pub use pull::pull;
pub use pulled::Pulled;
pub use push::{Pushed, push};
pub use settings::{Registry, RegistrySettings};
pub use tags::tags;
