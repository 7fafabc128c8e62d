//! Image and settings in, running sandbox out.
//!
//! There is no daemon. [`create`](create::create) starts one *monitor* process for each sandbox (the same
//! executable under another name); it owns that sandbox's life: launch, readiness, timeouts, health, port
//! forwards, clean-up. Every other `abx` process reads the state directory and talks to the daemon inside
//! through `guest.sock`, or to the monitor through `control.sock`.
//!
//! ```text
//! sandboxes/<id>/            appears by rename, complete
//!   lock                     locked by the monitor while it lives: the one test of liveness
//!   sandbox.json             the record; only the monitor writes it
//!   template.json            what the creator wants kept with it, as it is
//!   guest.sock               the daemon inside
//!   control.sock             the monitor: kill, pause, resume
//!   log.jsonl                output of the startup command, the last 8 MB at least
//!   disk.ext4                the writable layer
//! ```
//!
//! A persistent sandbox outlives its monitor: its entry stays, with no lock held, until [`resume`] starts a new
//! monitor for it.
//!
//! In reading order: [`settings`], [`id`], [`record`], [`registry`], [`create`], [`resume`], `monitor`, [`control`],
//! [`snapshot`], [`disk`], [`clean`].
//!
//! **Architecture Invariant:** this crate knows images and settings, never templates or references.

pub mod clean;
pub mod control;
pub mod create;
pub mod disk;
mod error;
pub mod guest_program;
pub mod id;
pub mod monitor;
pub mod python_library;
pub mod record;
pub mod registry;
pub mod resume;
pub mod settings;
pub mod snapshot;
mod start;

pub use abx_isolate::{NO_POLICY_ALLOWS, Refusal, RefusalReport};
pub use error::EngineError;
pub use id::SandboxId;
pub use record::{Cause, EndReason, Ended, Health, PortMapping, Record, State};
pub use registry::{Found, find, find_ended, list, list_ended};
pub use settings::{PortRequest, SandboxSettings};
