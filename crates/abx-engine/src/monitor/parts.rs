//! What a monitor serves and listens to.

use std::path::Path;

use abx_client::Client;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::plan::Plan;
use super::requests::{self, Asked};
use crate::EngineError;

/// What the monitor holds beside the process itself.
pub(super) struct Parts {
    pub client: Client,
    /// Our end of the daemon's control socket; while it is open the daemon stays.
    pub guest: UnixStream,
    /// What is asked of this monitor.
    pub asked: mpsc::Receiver<Asked>,
}

impl Parts {
    /// Begins to serve; the second writes the log until nobody can print any more.
    pub(super) fn new(
        dir: &Path,
        plan: Plan,
    ) -> Result<(Self, JoinHandle<std::io::Result<()>>), EngineError> {
        let failed = || EngineError::state(dir);
        let log = tokio::spawn(plan.log.take_over());
        plan.control.set_nonblocking(true).map_err(failed())?;
        plan.guest.set_nonblocking(true).map_err(failed())?;
        let control = UnixListener::from_std(plan.control).map_err(failed())?;
        let (ask, asked) = mpsc::channel(8);
        tokio::spawn(requests::serve(control, ask));
        let parts = Self {
            client: Client::new(dir.join("guest.sock")),
            guest: UnixStream::from_std(plan.guest).map_err(failed())?,
            asked,
        };
        Ok((parts, log))
    }
}
