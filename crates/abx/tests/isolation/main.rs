//! Attempts to get out of a sandbox, or to harm what is outside, by everybody who may be inside: root and the user.
//!
//! A file for each kind of attempt; `docs/isolation.md` names what stops each. Every attempt is harmless if it succeeds:
//! a call is made with arguments that change nothing, a file is opened and not written to, a hog stops by itself. All
//! of it happens in a [`lab`]: namespaces of their own for the host's part, and limits around everything.

mod cell;
mod cgroups;
mod devices;
mod floods;
mod hogs;
mod kernel_files;
mod lab;
mod mounts;
mod neighbours;
mod network;
mod processes;
mod seams;
mod system_calls;
mod transfers;

use abx_test::Program;

const PROGRAM: Program = Program { path: env!("CARGO_BIN_EXE_abx"), scratch: env!("CARGO_TARGET_TMPDIR") };
