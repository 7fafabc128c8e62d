//! Entries of the executable that are not for people: `abx` re-executes itself as the monitor of a sandbox, as the
//! keeper of a pool, as
//! the helper that runs one build step, and as the one that writes finished layers to disk.

use std::process::ExitCode;

/// Runs the internal entry named by the first argument; `None` where it names none. Call it before anything
/// starts a thread.
pub fn dispatch(first_argument: Option<&std::ffi::OsStr>) -> Option<ExitCode> {
    match first_argument?.to_str()? {
        abx_engine::monitor::ENTRY => Some(abx_engine::monitor::main()),
        crate::pool::ENTRY => Some(crate::pool::main()),
        abx_isolate::HELPER => Some(ExitCode::from(abx_isolate::run_helper())),
        abx_image::SYNC_HELPER => Some(ExitCode::from(abx_image::run_sync(std::env::args_os().skip(2)))),
        _ => None,
    }
}
