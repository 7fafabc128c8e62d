//! Root file system and process in, running isolated process out.

mod cgroup;
mod channel;
mod child;
mod doctor;
mod error;
mod init;
mod launch;
mod network;
mod privileges;
mod program;
mod relay;
mod root;
mod running;
mod seccomp;
mod slots;
mod start;
mod step;
mod sys;
mod userns;

pub use cgroup::{Cgroups, Stats};
pub use doctor::{Check, Leftover, host_report, leftovers, remove};
pub use error::{Feature, IsolateError, SystemError};
pub use launch::{Bind, Ids, Launch, Limits, Network, Process, Root, RuntimeFile, Upper};
pub use network::{Addresses, interface_name, remove_table};
pub use relay::{Activity, DNS_ADDRESS, PortForward, Relays, resolv_conf};
pub use running::{Ended, Running};
pub use slots::{Slot, Slots};
pub use start::launch;
pub use step::{HELPER, StepChild, StepEnd, Stopper, Streams, run_helper, spawn_step};
