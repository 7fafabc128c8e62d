//! Root file system and process in, running isolated process out.
//!
//! In: a [`Launch`], which says everything, and [`Relays`], what passes between the sandbox's network and the host's.
//! Out: a [`Running`] whose owner is the calling process. Nothing here knows of images or templates.
//!
//! ```text
//! owner (single thread)                              child, process 1 of its namespaces
//! launch ─ fork into mnt, pid, ipc, uts ───────────▶ private mounts, binds, /proc, /dev, /run
//!   user namespace with its id mapping; disk ───────▶ layers through the mapping, overlay, files
//!   control groups; network namespace, interfaces ──▶ enters both, /sys, changes its root
//!                                                    joins the user namespace, bounds capabilities, seccomp, user
//! Running ◀─ report pipe closes ─────────────────── exec (or a tiny process 1 of ours that starts the program)
//! ```
//!
//! In reading order: `launch` and `start` (both sides of the drawing begin there), `child`, `root` (the mounts),
//! `userns`, `privileges` and `seccomp` (what is given up), `program` and `init`, `running` and `rename`; then `cgroup`, `network`, `relay` and
//! `guard` (what of the outside may be reached), each a subject of its own; `step` runs one launch in a helper process for callers with threads; `slots` hands out ids
//! and addresses; `doctor` tells what a host lacks and what was left on it.
//!
//! **Architecture Invariant:** the mount, pid, network, ipc and uts namespaces belong to the host's user namespace, not to
//! the sandbox's. Root inside therefore has no capability over any of them: it cannot mount, configure the network or set
//! the host name, whatever capabilities it is given.
//!
//! **Architecture Invariant:** whatever is killed, the kernel takes back all but control groups: mounts live in the
//! sandbox's namespace alone, loop devices detach themselves, interfaces end with the namespace, process 1 dies with its
//! owner. No other program is started: not `ip`, `nft`, `mount` or `losetup`.

mod cgroup;
mod channel;
mod child;
mod doctor;
mod error;
mod guard;
mod init;
mod launch;
mod network;
mod privileges;
mod program;
mod relay;
mod rename;
mod root;
mod running;
mod seccomp;
mod slots;
mod start;
mod step;
mod sys;
mod userns;

pub use cgroup::{Cgroups, Stats};
pub use doctor::{Check, Leftover, host_report, leftovers, remove, require_root};
pub use error::{Feature, IsolateError, SystemError};
pub use guard::{NO_POLICY_ALLOWS, Refusal, RefusalReport};
pub use launch::{
    Bind, Disk, Extras, Ids, Launch, Limits, Memory, Network, Process, Root, RuntimeFile, SecretFile, Upper,
};
pub use network::{Addresses, interface_name, remove_table};
pub use relay::{Activity, DNS_ADDRESS, PortForward, Relays, resolv_conf};
pub use root::{disk_in_use, open_disk};
pub use running::{Ended, Running};
pub use slots::{Slot, Slots};
pub use start::launch;
pub use step::{HELPER, StepChild, StepEnd, Stopper, Streams, run_helper, spawn_step};
