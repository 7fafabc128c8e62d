//! The code server: cells in, what happens while they run out.
//!
//! In: a listening socket as standard input, the sandbox user's environment. Out: the HTTP service of
//! [`abx_protocol::code`], and the processes of kernels. In reading order:
//!
//! - [`settings`]: what the server is told,
//! - [`server`], [`routes`]: connections and requests,
//! - [`contexts`], [`language`]: which context a request means, which program runs it,
//! - [`context`], [`execution`]: one context and one cell in it; [`outlet`]: what its client hears,
//! - [`kernel`]: Jupyter kernels and the worker of ours,
//! - [`forms`]: values in every form; [`variables`], [`install`]: what is done around a cell.
//!
//! It is a process of its own, run by the sandbox's user and started by the daemon inside when somebody first
//! connects: what a kernel sends may be large or hostile, and must not weigh on process 1. When it dies, its
//! kernels die with it, and the next connection starts another.
//!
//! **Architecture Invariant:** one thread; no knowledge of sandboxes, templates or the host.

mod context;
mod contexts;
mod execution;
mod forms;
mod install;
mod kernel;
mod language;
mod outlet;
mod routes;
mod server;
mod settings;
mod variables;

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;

pub use server::serve;
pub use settings::Settings;

/// The whole life of the process: serves the socket that is standard input.
///
/// # Errors
/// Standard input is no listening socket, or no runtime can be had.
pub fn run() -> io::Result<()> {
    // Kernels must not inherit it, and read nothing.
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(null.as_fd())?;
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    rustix::thread::set_name(c"abx-code")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, serve(listener, Settings::from_env()))
}
