//! A Debian release in, a root file system layer out.
mod closure;
mod date;
pub mod deb822;
mod digest;
mod index;
pub mod keyring;
pub mod mirrors;
mod relation;
pub mod release;
pub mod release_file;
pub mod version;
pub use digest::Checksum;
