//! Files: how callers name them, and what calls do with them.
//!
//! The daemon reads files as root, as the E2B daemon does; what it changes it changes within the [`reach`] of the
//! caller's user, and gives what it makes to that user.
//!
//! - [`path`]: a caller's path → an absolute one,
//! - [`entry`]: a path → what a caller is told of it,
//! - [`service`]: the calls of `filesystem.Filesystem`,
//! - [`watch`], [`watchers`]: changes below a directory,
//! - [`download`], [`upload`] (with [`multipart`]), [`compose`]: the routes below `/files`,
//! - [`metadata`]: what uploads attach to files,
//! - [`archive`]: whole directories,
//! - [`owned`]: what all of these make and change.

pub(crate) mod archive;
pub(crate) mod compose;
pub(crate) mod download;
pub(crate) mod entry;
pub(crate) mod metadata;
mod multipart;
pub(crate) mod owned;
pub(crate) mod path;
mod reach;
pub(crate) mod service;
pub(crate) mod upload;
pub(crate) mod watch;
pub(crate) mod watchers;
