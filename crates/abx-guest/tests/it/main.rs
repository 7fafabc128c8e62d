//! The daemon as an ordinary process, driven as the host drives it and by bytes written by hand.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod attached;
mod code;
mod common;
mod files;
mod private;
mod process;
mod sessions;
mod signed;
mod wire;
