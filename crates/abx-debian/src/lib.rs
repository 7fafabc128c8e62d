//! The name of a Debian release in, an image with its root file system out, made from the distribution's own
//! archive where no registry can be reached.
//!
//! Nothing is believed because of where it came from: release files must carry a signature by Debian's keys
//! (compiled in, see `keys/README.md`), index files must have the digest the release file signs, packages the
//! digest the index says. In reading order:
//!
//! - [`release`]: which image names mean a release; [`mirrors`]: which mirrors an apt configuration names,
//! - [`settings`]: what a bootstrap needs to know, [`bootstrap()`]: its stages in order, [`survey()`]: what they would
//!   come to,
//! - `keyring`, `release_file`, `archive`: signatures, and the signed state of a release,
//! - `deb822`, `version`, `relation`, `index`, `closure`: the packages that make up a base system,
//! - `download`, `deb`, `rooted`, `slim`, `unpack`, `packages`: their files into a root,
//! - `database`, `layout`, `configure`, `tidy`: what makes the root a system.
//!
//! **Architecture Invariant:** apt's files, proxies and settings reach this crate as values; it reads no
//! environment variable and none of the host's configuration.

mod architecture;
mod archive;
mod bootstrap;
mod closure;
mod compression;
mod configure;
mod database;
mod date;
mod deb;
mod deb822;
mod digest;
mod download;
mod error;
mod index;
pub mod keyring;
mod layout;
pub mod mirrors;
mod packages;
mod relation;
pub mod release;
pub mod release_file;
mod rooted;
pub mod settings;
mod slim;
mod state;
mod tidy;
mod unpack;
mod version;

#[cfg(test)]
mod tests;

pub use bootstrap::{Survey, bootstrap, survey};
pub use digest::Checksum;
pub use error::DebianError;
pub use mirrors::mirrors_from_apt;
pub use release::{Release, release_of};
pub use settings::{BootstrapSettings, DEFAULT_MAX_AGE};
