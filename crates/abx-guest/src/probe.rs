//! `POST /abx/v1/exec`: a probe or health check, cut at its limit.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use abx_protocol::private::{ExecRequest, ExecResponse};
use abx_protocol::signal::Exit;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use rustix::process::Pid;
use tokio::time::{Instant, sleep_until};

use crate::command::{Child, Command, Ends, SpawnError, Terminal};
use crate::files::compose::read_json;
use crate::guest::Guest;
use crate::http::error::json;
use crate::http::{Body, HttpError};
use crate::process::{Outputs, settle, tree};
use crate::reaper::{End, Watched};
use crate::tail::Tail;

const DEFAULT_TIMEOUT: f64 = 30.0;
const MAX_TIMEOUT: f64 = 86_400.0;

pub(crate) async fn exec(guest: &Rc<Guest>, request: Request<Incoming>) -> Result<Response<Body>, HttpError> {
    let request: ExecRequest = read_json(request.into_body()).await?;
    let seconds = if request.timeout > 0.0 { request.timeout.min(MAX_TIMEOUT) } else { DEFAULT_TIMEOUT };
    let deadline = Instant::now() + Duration::from_secs_f64(seconds);
    let user = guest.user(request.user.as_deref())?;
    let command = Command {
        program: guest.shell(),
        args: &["-c".to_owned(), request.command],
        env: &guest.environment(&user, &BTreeMap::new()),
        directory: &guest.default_directory(&user),
        user: &user,
        terminal: Terminal::None { stdin: false },
    };
    let child = command.spawn(guest).map_err(|error| explain(guest.shell(), error))?;
    Ok(json(StatusCode::OK, &finish(child, deadline).await))
}

fn explain(shell: &str, error: SpawnError) -> HttpError {
    let what = match error {
        SpawnError::NotFound => "not found".to_owned(),
        SpawnError::NotExecutable => "not executable".to_owned(),
        SpawnError::Io(error) => error.to_string(),
    };
    HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("error starting shell '{shell}': {what}"))
}

async fn finish(child: Child, deadline: Instant) -> ExecResponse {
    let Child { pid, watched, ends } = child;
    let Watched { mut exit, end } = watched;
    let mut outputs = match ends {
        Ends::Pipes { stdout, stderr, .. } => Outputs::pipes(stdout, stderr),
        Ends::Pty(terminal) => Outputs::terminal(Rc::new(terminal)),
    };
    let _guard = KillOnDrop { pid, end };
    let mut tail = Tail::default();
    let mut open = true;
    let mut timed_out = false;
    let exit = loop {
        tokio::select! {
            exit = &mut exit => break exit,
            () = sleep_until(deadline), if !timed_out => {
                timed_out = true;
                tree::kill(pid);
            }
            output = outputs.next(), if open => match output {
                Some(output) => tail.push(output.bytes()),
                None => open = false,
            },
        }
    };
    settle(outputs, async |output| tail.push(output.bytes())).await;
    let exit_code = exit.map_or(1, Exit::shell_status);
    ExecResponse { exit_code, timed_out, output: tail.text() }
}

/// A caller that goes away takes along what it has started.
pub(crate) struct KillOnDrop {
    pub(crate) pid: Pid,
    pub(crate) end: Rc<End>,
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if !self.end.is_reached() {
            tree::kill(self.pid);
        }
    }
}
