//! `POST /abx/v1/commands`: who answers for named commands. Where nobody does, our service is started.
//!
//! It is a process like any other, as the user, in the workdir; what it and the commands print goes to the log. Once
//! it has ended, by a command's doing say, the next call starts another. In a sandbox without Python the daemon itself
//! serves the executables there are ([`native`]).
//!
//! - [`executable`], [`arguments`], [`call`]: an executable, what it takes, one run of it.

mod arguments;
mod call;
mod executable;
mod native;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use abx_protocol::private::{COMMANDS_PORT, CommandService, StartupState};
use abx_protocol::process::{Event, ProcessConfig, ProcessEvent};
use http::{Response, StatusCode};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep, timeout};

use crate::guest::Guest;
use crate::http::error::json;
use crate::http::{Body, HttpError};
use crate::process::{Launch, LaunchError, Process, launch};
use crate::startup::Lines;
use crate::tail::Tail;

/// The tag its process has.
const TAG: &str = "commands";
/// How long a sandbox's startup command is given to serve the port itself.
const HEAD_START: Duration = Duration::from_secs(5);
/// How long ours may take: what `commands.py` imports may be large.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(10);
/// A connection to the loopback that takes longer is none.
const CONNECT: Duration = Duration::from_secs(1);
/// Where a template says who may call.
const TOKEN: &str = "ABX_SERVER_TOKEN";

/// Our service, where it has been started. Who holds the lock looks after it.
#[derive(Default)]
pub(crate) struct Commands {
    ours: Mutex<Ours>,
}

#[derive(Default)]
enum Ours {
    #[default]
    None,
    Process(Rc<Process>),
    /// The daemon's own, which never ends.
    Native,
}

impl Ours {
    fn is_up(&self) -> bool {
        match self {
            Self::None => false,
            Self::Process(process) => !process.has_ended(),
            Self::Native => true,
        }
    }
}

/// Answers with who serves the port, once it is served.
///
/// # Errors
/// 404 where the template's commands need Python and there is none, 500 with its last words where the service does not come up.
pub(crate) async fn ensure(guest: &Rc<Guest>) -> Result<Response<Body>, HttpError> {
    let mut ours = guest.commands.ours.lock().await;
    if !is_served().await {
        wait_for_startup(guest).await;
        if !is_served().await {
            *ours = start(guest).await?;
        }
    }
    let token = guest.settings.borrow().env.iter().rev().find(|(name, _)| name == TOKEN).cloned();
    let token = token.map(|(_, value)| value).filter(|value| !value.is_empty());
    let service = CommandService { port: COMMANDS_PORT, is_ours: ours.is_up(), token };
    Ok(json(StatusCode::OK, &service))
}

async fn is_served() -> bool {
    let addresses = [
        SocketAddr::from((Ipv4Addr::LOCALHOST, COMMANDS_PORT)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, COMMANDS_PORT)),
    ];
    matches!(timeout(CONNECT, TcpStream::connect(&addresses[..])).await, Ok(Ok(_)))
}

/// A startup command that still runs may be about to serve the port; ours must not be in its way.
async fn wait_for_startup(guest: &Guest) {
    while guest.startup.state().state == StartupState::Running
        && guest.started.elapsed() < HEAD_START
        && !is_served().await
    {
        sleep(LOOK).await;
    }
}

/// Starts our service and waits until it serves.
async fn start(guest: &Rc<Guest>) -> Result<Ours, HttpError> {
    let words = ["-u", "-m", "agent_sandbox.server", "serve", "--commands", "agent_sandbox.kept"];
    let spec = Launch {
        config: ProcessConfig {
            cmd: "python3".to_owned(),
            args: words.map(str::to_owned).into(),
            ..ProcessConfig::default()
        },
        user: guest.user(None)?,
        pty: None,
        stdin: false,
        tag: Some(TAG.to_owned()),
        deadline: None,
        counts_as_use: false,
    };
    let (process, events) = match launch(guest, spec) {
        Ok(launched) => launched,
        Err(LaunchError::NotFound(_)) => {
            native::start(guest).await?;
            return Ok(Ours::Native);
        }
        Err(error) => return Err(HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    };
    let last_words = Rc::new(std::cell::RefCell::new(Tail::default()));
    let relay = tokio::task::spawn_local(relay(guest.clone(), events, last_words.clone()));
    let deadline = Instant::now() + PATIENCE;
    while !is_served().await {
        if process.has_ended() {
            // It ends with the last of what it had to say.
            let _ = relay.await;
            let said = last_words.borrow().text();
            let said = said.trim().lines().next_back().unwrap_or("it said nothing").to_owned();
            return Err(HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, said));
        }
        if Instant::now() > deadline {
            process.kill();
            let message = format!("it did not serve within {} s", PATIENCE.as_secs());
            return Err(HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, message));
        }
        sleep(LOOK).await;
    }
    Ok(Ours::Process(process))
}

/// Puts what the service and its commands print into the log, until it ends.
async fn relay(
    guest: Rc<Guest>,
    mut events: mpsc::Receiver<ProcessEvent>,
    last_words: Rc<std::cell::RefCell<Tail>>,
) {
    let mut lines = Lines::default();
    while let Some(event) = events.recv().await {
        match event.event {
            Some(Event::Data(data)) => {
                let Some(output) = data.output else { continue };
                last_words.borrow_mut().push(output.bytes());
                lines.push(&output, &guest.startup);
            }
            Some(Event::End(_)) => lines.finish(&guest.startup),
            _ => {}
        }
    }
}
