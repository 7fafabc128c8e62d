//! `POST /abx/v1/code`: the code service, run by the sandbox's user in a process of its own.
//!
//! The socket is ours and stays; whenever somebody connects and no server is there, one is started with it: this
//! very program under another entry. So a server that is killed is replaced by the next connection, and a sandbox
//! that never runs code has neither a socket nor a process for it.

use std::cell::OnceCell;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use abx_protocol::code::{CAPABILITY, PORT};
use abx_protocol::private::CodeService;
use http::{Response, StatusCode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, set_parent_process_death_signal};
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep_until};

use crate::channel::register;
use crate::command::Becoming;
use crate::guest::Guest;
use crate::http::error::json;
use crate::http::{Body, HttpError};
use crate::reaper::Watched;

/// The first argument under which this program is the server.
pub(crate) const ENTRY: &str = "code-server";

/// A server that ended is not started again sooner than this after its own start.
const PAUSE: Duration = Duration::from_secs(1);

/// Where the service is, once it has been asked for.
#[derive(Default)]
pub(crate) struct CodeServer {
    port: OnceCell<u16>,
}

/// Answers where the service is.
///
/// # Errors
/// 403 where the capability is not granted, 503 where its port is not to be had.
pub(crate) fn code(guest: &Rc<Guest>) -> Result<Response<Body>, HttpError> {
    if !guest.config.capabilities.iter().any(|granted| granted == CAPABILITY) {
        let message = format!("the capability `{CAPABILITY}` is not granted to this sandbox");
        return Err(HttpError::new(StatusCode::FORBIDDEN, message));
    }
    let port = match guest.code.port.get() {
        Some(port) => *port,
        None => {
            let port = listen(guest).map_err(|error| {
                let message = format!("the code service cannot listen: {error}");
                HttpError::new(StatusCode::SERVICE_UNAVAILABLE, message)
            })?;
            *guest.code.port.get_or_init(|| port)
        }
    };
    Ok(json(StatusCode::OK, &CodeService { port }))
}

fn listen(guest: &Rc<Guest>) -> io::Result<u16> {
    let wanted = guest.config.code_port.unwrap_or(PORT);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted))?;
    let port = listener.local_addr()?.port();
    let listener = register(listener.into())?;
    tokio::task::spawn_local(supervise(guest.clone(), listener));
    Ok(port)
}

/// Starts a server whenever there is somebody to serve and nobody who does.
async fn supervise(guest: Rc<Guest>, listener: AsyncFd<OwnedFd>) {
    loop {
        if called(&listener).await.is_err() {
            return;
        }
        let next = Instant::now() + PAUSE;
        if let Ok(watched) = start(&guest, listener.get_ref()) {
            watched.end.reached().await;
        }
        sleep_until(next).await;
    }
}

/// Waits for a connection that nobody has accepted.
async fn called(listener: &AsyncFd<OwnedFd>) -> io::Result<()> {
    loop {
        let mut ready = listener.readable().await?;
        let mut polled = [PollFd::new(listener, PollFlags::IN)];
        if poll(&mut polled, Some(&Timespec::default()))? > 0 {
            return Ok(());
        }
        ready.clear_ready();
    }
}

/// The server, with the socket as its standard input. What it has to complain of goes where our complaints go.
fn start(guest: &Guest, listener: &OwnedFd) -> io::Result<Watched> {
    let user =
        guest.user(None).map_err(|error| io::Error::new(io::ErrorKind::NotFound, error.to_string()))?;
    let mut command = std::process::Command::new("/proc/self/exe");
    command.arg0("abx-code").arg(ENTRY).env_clear().envs(guest.environment(&user, &Default::default()));
    command.current_dir("/").stdin(Stdio::from(listener.as_fd().try_clone_to_owned()?)).stdout(Stdio::null());
    let becoming = Becoming::of(guest, &user);
    let prepare = move || {
        becoming.apply()?;
        // Afterwards, because becoming somebody else forgets it.
        Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
    };
    // SAFETY: system calls only, `Becoming::apply` included; nothing allocates or takes a lock.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a child has a number");
    Ok(guest.reaper.watch(pid))
}
