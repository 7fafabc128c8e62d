//! Root file system and process in, running isolated process out.

mod cgroup;
mod child;
mod error;
mod init;
mod launch;
mod privileges;
mod program;
mod relay;
mod root;
mod running;
mod seccomp;
mod start;
mod step;
mod sys;
mod userns;

pub use cgroup::{Cgroups, Stats};
pub use error::{Feature, IsolateError, SystemError};
pub use launch::{Bind, Ids, Launch, Limits, Network, Process, Root, RuntimeFile, Upper};
pub use relay::{DNS_ADDRESS, PortForward, Relays};
pub use running::{Ended, Running};
pub use start::launch;
pub use step::{HELPER, StepChild, StepEnd, Stopper, Streams, run_helper, spawn_step};
