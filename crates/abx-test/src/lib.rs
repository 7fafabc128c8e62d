//! What the tests of the workspace share: a place to run `abx` in, and servers on the loopback.
//!
//! [`TestContext`] runs the built program with a home of its own and ends what it has started, [`LiveSandbox`] is a
//! sandbox for the length of a test, [`Terminal`] a terminal with the program in its foreground, [`registry`] a
//! container registry that can lie, [`docker_registry`] one that is real, [`github`] a GitHub that can (to the byte with a [`wire::Wire`]), [`index`] the host of a template index;
//! [`outside`] a network beyond this machine with names of its own;
//! [`canary`] looks for a secret where it must not be.
//!
//! **Architecture Invariant:** nothing but tests depends on this crate; so it may panic, and its panics say what the
//! program did.

pub mod canary;
mod context;
pub mod docker_registry;
pub mod github;
pub mod index;
mod loopback;
pub mod outside;
pub mod registry;
mod run;
mod sandbox;
mod terminal;
pub mod wire;

pub use context::{Program, TestContext};
pub use run::{Ran, copy_program, run, skip, wait_until, write_program};
pub use sandbox::LiveSandbox;
pub use terminal::Terminal;
