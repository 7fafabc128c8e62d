//! The duties and the immunity of process 1.

use std::io;

use rustix::process::{Signal, set_child_subreaper, set_parent_process_death_signal};

/// Signals that must not end or stop us. Handlers would do as well, but a disposition survives nothing
/// here: [`crate::command`] resets it in every child.
const IGNORED: [libc::c_int; 8] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGPIPE,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTTOU,
];

/// Ends with the parent, adopts orphans, ignores what would end it, and is the last the kernel kills for
/// memory. Returns whether children must raise their out-of-memory score back to 0.
pub(crate) fn prepare() -> io::Result<bool> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if !rustix::process::getpid().is_init() {
        set_child_subreaper(Some(rustix::process::getpid()))?;
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    for signal in IGNORED {
        // SAFETY: SIG_IGN is a valid disposition and the process has one thread yet.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    bound_allocator();
    Ok(["-1000", "-999", "-500"]
        .iter()
        .any(|score| std::fs::write("/proc/self/oom_score_adj", score).is_ok()))
}

/// One arena and early trimming: a daemon of a few threads gains nothing from more, and pays in memory.
fn bound_allocator() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only sets tuning values.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 << 10);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 10);
    }
}
