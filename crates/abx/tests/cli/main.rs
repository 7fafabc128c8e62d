//! The command line from outside: what it prints, and the status it ends with.
//!
//! Where a sandbox is needed it is one without walls (`support::sandbox`), so that everything here runs without
//! root, image and network.

mod cache;
mod canary;
mod catalog;
mod command_line;
mod config;
mod dockerfile;
mod explain;
mod foreground;
mod github;
mod info;
mod init;
mod local_archive;
mod lock;
mod migrate;
mod sandboxes;
mod support;
mod template_test;
mod terminal;
mod token;
mod transfers;
mod versions;
