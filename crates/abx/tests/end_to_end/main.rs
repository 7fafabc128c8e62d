//! What a user sees, from the words typed to the sandbox that answers: the built program, real images, real kernels.
//!
//! A file for each behaviour. Tests that need root or the package archive say so and pass where there is none; the base
//! they share is built once for a checkout, in `target/tmp`.

mod bad_input;
mod build;
mod built_in;
mod cache;
mod canary;
mod catalog;
mod clock;
mod code;
mod command_servers;
mod commands;
mod create;
mod dockerfile;
mod doctor;
mod egress;
mod ended;
mod exec;
mod files;
mod github;
mod idle;
mod image;
mod info;
mod inherit;
mod init;
mod lifecycle;
mod limits;
mod local_archive;
mod lock;
mod logs;
mod network;
mod persistent;
mod pool;
mod ports;
mod readiness;
mod registry;
mod reproducible;
mod service;
mod snapshot;
mod surroundings;
mod template;
mod template_test;
mod terminal;
mod vendor;

use abx_test::{Program, TestContext};

const PROGRAM: Program = Program { path: env!("CARGO_BIN_EXE_abx"), scratch: env!("CARGO_TARGET_TMPDIR") };

/// A state with nothing in it.
fn empty() -> TestContext {
    TestContext::empty(PROGRAM)
}

/// The state that has `base` and `python-base` built; shared with other tests, so nothing may count what is in it.
fn shared() -> Option<TestContext> {
    TestContext::shared(PROGRAM)
}

/// A state of its own with the Debian image alone.
fn with_debian() -> Option<TestContext> {
    TestContext::with_debian(PROGRAM)
}

/// A state of its own with `base` and `python-base` built.
fn with_python() -> Option<TestContext> {
    TestContext::with_python(PROGRAM)
}
