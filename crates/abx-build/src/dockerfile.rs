//! A Dockerfile and its context in, an image out.
//!
//! ```text
//! DockerfileRequest
//!   │ project   arguments, the stages that are needed, what they share
//!   │ schedule  stages that wait for nothing any more, several at a time
//!   │ stage     one instruction after the other, each with effect a layer with a key of its own
//!   │   metadata  what changes the configuration alone
//!   │   run       RUN: user, mounts, secrets, the process
//!   │   copy      COPY and ADD: which files, and writing them
//!   │   workdir   WORKDIR
//!   ▼ DockerfileImage
//! ```
//!
//! The behaviour is BuildKit's. It differs on purpose in this: times are no part of a key, and files of the context
//! and directories have one fixed time; an unknown user of `--chown` is an error rather than root; an instruction
//! that changes no file makes no layer.
//!
//! **Architecture Invariant:** a secret's value is in the memory of its step alone. It reaches no key, no layer, no
//! history and no argument list, and is starred out of the log.

mod build;
mod copy;
mod froms;
mod history;
mod metadata;
mod project;
mod refusal;
mod request;
mod run;
mod schedule;
mod stage;
mod users;
mod workdir;

pub use froms::{NeededImage, froms};
pub use refusal::Refusal;
pub use request::{BuildSecret, DockerfileImage, DockerfileRequest, Own};
