//! [`Lineage`](abx_source::Lineage) in, [`Plan`] (pure), then [`Built`] out: an image and how to run it.
//!
//! Each step is a layer keyed by what it depends on, never by time. In reading order:
//!
//! 1. [`package`](mod@package) reads and hashes the files of the packages → [`Member`]s with [`Tree`]s,
//! 2. [`plan`](mod@plan) orders the steps and gives each its key → [`Plan`],
//! 3. [`builder`] takes each layer from the store or makes it → [`Built`].
//!
//! Steps that need no process are written by `setup`, `copy` and `finish` on a `canvas`, the layer's directory
//! over a `view` of the layers below. The others are a `job` (`apt`, `pip`, `npm`, a command) which `process`
//! runs in an isolated root with the host's `network` configuration, and `tidy` cleans up after.
//!
//! Beside these, [`dockerfile`] builds an image from a Dockerfile, as the base for a lineage's steps.
//!
//! [`surroundings`](mod@surroundings) is what a running sandbox gets of the same host configuration.
//!
//! **Architecture Invariant:** planning touches nothing but its arguments; nothing of the host (mirrors,
//! proxies, certificates, credentials) reaches a key or a layer.

mod apt;
mod apt_sources;
pub mod builder;
mod bytecode;
mod canvas;
mod copy;
pub mod dockerfile;
mod env;
mod error;
mod finish;
mod job;
mod key;
mod log;
pub mod member;
mod network;
mod npm;
pub mod package;
mod passwd;
mod pip;
pub mod plan;
mod process;
mod python;
mod setup;
pub mod step;
pub mod surroundings;
mod tidy;
pub mod tree;
mod view;

pub use builder::{Builder, Built, Limits, Outcome, StepOutcome, stored_layers};
pub use dockerfile::{BuildSecret, DockerfileImage, DockerfileRequest, NeededImage, Own, Refusal, froms};
pub use error::{BuildError, FailedStep, Failure};
pub use member::Member;
pub use package::members;
pub use plan::{Plan, Renewals, plan};
pub use step::{Action, Step};
pub use surroundings::{Surroundings, surroundings};
pub use tree::Tree;
