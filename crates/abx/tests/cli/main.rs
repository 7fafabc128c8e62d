//! The command line from outside: what it prints, and the status it ends with.
//!
//! Where a sandbox is needed it is one without walls (`support::sandbox`), so that everything here runs without
//! root, image and network.

mod catalog;
mod cache;
mod command_line;
mod explain;
mod foreground;
mod github;
mod lock;
mod local_archive;
mod migrate;
mod sandboxes;
mod support;
mod terminal;
mod transfers;
mod versions;
