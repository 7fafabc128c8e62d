//! The vocabulary every crate shares.
//!
//! In: nothing. Out: values the whole workspace speaks in. In reading order:
//!
//! - [`code`]: the stable error codes and what each means,
//! - [`fault`]: what an error must answer (code, place, advice) so that every edge renders it alike,
//! - [`progress`]: progress as data,
//! - [`invalid`]: all that is wrong with one file,
//! - [`home`]: where things lie on disk,
//! - [`egress`]: what of the outside a sandbox may reach,
//! - [`host`]: the host's mirrors, proxies and certificates as values,
//! - [`fs`]: atomic writes, locks and staging directories,
//! - [`secret`]: a string that cannot be printed.
//!
//! **Architecture Invariant:** this crate never touches the network and reads no environment variable.

pub mod code;
pub mod egress;
pub mod fault;
pub mod fs;
pub mod home;
pub mod host;
pub mod invalid;
pub mod progress;
pub mod secret;

pub use code::Code;
pub use egress::Egress;
pub use fault::{Fault, Snippet};
pub use home::Home;
pub use invalid::Invalid;
pub use progress::{Event, Progress, Silent};
pub use secret::{Secret, without_credentials};
