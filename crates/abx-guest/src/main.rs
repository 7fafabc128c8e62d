//! The daemon inside a sandbox: process 1, processes, terminals, files.
//!
//! In: a listening socket, a control descriptor and a [`abx_protocol::BootConfig`], all inherited. Out: effects
//! in the sandbox it runs in. In reading order:
//!
//! - [`boot`], [`init`], [`reaper`]: what it inherits, what it is, what it collects,
//! - [`guest`], [`users`]: what every call can see, and who it is for,
//! - [`command`], [`channel`], [`pty`]: one process and its ends,
//! - [`process`]: processes that calls start; [`startup`], [`probe`]: those the host starts,
//! - [`commands`]: who answers for named commands,
//! - [`code`]: the server that runs cells, a process of its own from the same file,
//! - [`files`]: files, directories, changes, archives,
//! - [`http`]: how calls come in; [`environment`], [`info`], [`metrics`], [`activity`]: small answers.
//!
//! **Architecture Invariant:** one thread runs everything but long file work; no name service, no dynamic
//! loading, nothing outside the sandbox but the inherited descriptors.

mod activity;
mod boot;
mod channel;
mod code;
mod command;
mod commands;
mod environment;
mod files;
mod guest;
mod http;
mod info;
mod init;
mod metrics;
mod ports;
mod probe;
mod process;
mod pty;
mod reaper;
mod startup;
mod tail;
mod users;

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;

use crate::boot::Inherited;
use crate::guest::Guest;
use crate::startup::StartupLog;

/// Threads for long file work; they end when idle.
const FILE_THREADS: usize = 8;

fn main() -> ExitCode {
    let result = match std::env::args_os().nth(1) {
        Some(word) if word == code::ENTRY => abx_code::run(),
        _ => run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The host reads what we say last; there is nobody else to tell.
            let _ = writeln!(io::stderr(), "abx-guest: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs until the host closes the control descriptor.
fn run() -> io::Result<()> {
    let inherited = Inherited::take()?;
    let resets_oom_score = init::prepare()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(FILE_THREADS)
        .thread_keep_alive(Duration::from_secs(1))
        .build()?;
    let tasks = tokio::task::LocalSet::new();
    let result = tasks.block_on(&runtime, serve(inherited, resets_oom_score));
    // Work on files that is still under way ends with the process.
    runtime.shutdown_background();
    result
}

async fn serve(inherited: Inherited, resets_oom_score: bool) -> io::Result<()> {
    let Inherited { listener, control, log, config } = inherited;
    let guest = Guest::new(config, StartupLog::new(log), resets_oom_score);
    let listener = http::Listener::new(listener)?;
    let reaper = tokio::task::spawn_local(guest.reaper.clone().run());
    tokio::task::spawn_local(http::serve(listener, guest.clone()));
    let has_startup = guest.config.startup_command.is_some();
    let startup = tokio::task::spawn_local(startup::run(Rc::clone(&guest)));
    tokio::select! {
        collected = reaper => collected.map_err(io::Error::other)?,
        released = hold(control, has_startup.then_some(startup)) => released,
    }
}

/// Says that we serve, and later that the startup command has ended; waits for the host to let go.
async fn hold(control: Option<OwnedFd>, startup: Option<JoinHandle<()>>) -> io::Result<()> {
    let Some(control) = control else { return std::future::pending().await };
    let control = channel::register(control)?;
    let say = async |line: &[u8]| {
        control.async_io(Interest::WRITABLE, |control| Ok(rustix::io::write(control, line)?)).await
    };
    say(abx_protocol::boot::READY).await?;
    let tell = async {
        if let Some(startup) = startup {
            let _ = startup.await;
            // Where the host has let go, it is seen below.
            let _ = say(abx_protocol::boot::ENDED).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = tell => Ok(()),
        () = let_go(&control) => Ok(()),
    }
}

/// Returns when the host has let go.
async fn let_go(control: &AsyncFd<OwnedFd>) {
    loop {
        let mut ignored = [0; 64];
        let read = control
            .async_io(Interest::READABLE, |control| Ok(rustix::io::read(control, &mut ignored)?))
            .await;
        // What the host says here means nothing yet; its silence for good, or an error, is the end.
        if !read.is_ok_and(|length| length > 0) {
            return;
        }
    }
}
