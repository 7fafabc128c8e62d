//! A running sandbox, in the hands of its owner.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use abx_core::Egress;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};

use crate::cgroup::Cgroups;
use crate::error::{IsolateError, system};
use crate::guard::{Guard, Refusal, RefusalReport};
use crate::network;
use crate::relay::{Activity, PortForward, Relay, Serving};
use crate::start::number;

/// The process tree behind a launch. Dropping it kills the tree and cleans up.
#[derive(Debug)]
pub struct Running {
    pid: Pid,
    pidfd: OwnedFd,
    cgroups: Cgroups,
    /// Where our own process 1 leaves the program's status; without it the program is process 1.
    status: Option<OwnedFd>,
    ended: Option<Ended>,
    /// The host's end of its network.
    interface: Option<String>,
    serving: Option<Serving>,
    clean: bool,
}

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Ended {
    /// With this status.
    Exited(u8),
    /// By this signal.
    Signaled(i32),
}

impl Ended {
    /// As a shell shows it: the status, or 128 and the signal.
    pub fn code(self) -> u8 {
        match self {
            Self::Exited(status) => status,
            Self::Signaled(signal) => 128u8.wrapping_add(signal as u8),
        }
    }

    fn from_wait(raw: i32) -> Self {
        if libc::WIFSIGNALED(raw) {
            Self::Signaled(libc::WTERMSIG(raw))
        } else {
            Self::Exited(libc::WEXITSTATUS(raw) as u8)
        }
    }
}

impl Running {
    pub(crate) fn new(pid: Pid, pidfd: OwnedFd, cgroups: Cgroups, interface: Option<String>) -> Self {
        Self { pid, pidfd, cgroups, status: None, ended: None, interface, serving: None, clean: false }
    }

    /// Our own process 1 will leave the program's status here.
    pub(crate) fn expect_status(&mut self, status: OwnedFd) {
        self.status = Some(status);
    }

    /// The program runs: begins to serve what was bound for it.
    pub(crate) fn serve(&mut self, relay: Relay) -> Result<(), IsolateError> {
        self.serving = Some(relay.start()?);
        Ok(())
    }

    /// The host's number of process 1.
    pub fn pid(&self) -> u32 {
        number(self.pid)
    }

    /// Becomes readable when process 1 ends.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    pub fn cgroups(&self) -> &Cgroups {
        &self.cgroups
    }

    /// What passes through the relays; `None` before it runs.
    pub fn activity(&self) -> Option<&Arc<Activity>> {
        self.serving.as_ref().map(|serving| &serving.activity)
    }

    /// The port forwards, with the ports they really have.
    pub fn ports(&self) -> Vec<PortForward> {
        self.serving.as_ref().map(Serving::ports).unwrap_or_default()
    }

    /// Forwards one more port while it runs, and tells where the host listens.
    ///
    /// # Errors
    /// The host cannot listen there.
    pub fn forward(&self, port: PortForward) -> Result<PortForward, IsolateError> {
        let gone = || IsolateError::Listen {
            address: port.listen.to_string(),
            source: rustix::io::Errno::NETDOWN.into(),
        };
        let serving = self.serving.as_ref().ok_or_else(gone)?;
        serving.forward(port)
    }

    /// What its policy has refused up to now; nothing where it has none.
    pub fn refusals(&self) -> RefusalReport {
        self.guard().map(|guard| guard.report()).unwrap_or_default()
    }

    /// Has refusals told from now on, and those before: in the order they happen, and the same one once in ten
    /// seconds. The listener must not wait.
    pub fn on_refusal(&self, listener: impl FnMut(&Refusal) + Send + 'static) {
        if let Some(guard) = self.guard() {
            guard.tell(Box::new(listener));
        }
    }

    /// Replaces the policy. Connections that are open stay; addresses of names are allowed once they are asked for
    /// anew.
    ///
    /// # Errors
    /// It was started without one, or the kernel refuses.
    pub fn set_egress(&self, policy: &Egress) -> Result<(), IsolateError> {
        self.guard().ok_or(IsolateError::NoPolicy)?.set(policy)
    }

    fn guard(&self) -> Option<&Arc<Guard>> {
        self.serving.as_ref()?.guard.as_ref()
    }

    /// Kills process 1, and with it everything inside.
    pub fn kill(&self) {
        // Fails only where it has ended already. A frozen tree dies once it is thawed.
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        let _ = self.cgroups.thaw();
    }

    /// Waits for the end. May be called again; the answer stays.
    pub fn wait(&mut self) -> Result<Ended, IsolateError> {
        loop {
            if let Some(ended) = self.wait_with(WaitIdOptions::EXITED)? {
                return Ok(ended);
            }
        }
    }

    /// The end, if it has come.
    pub fn try_wait(&mut self) -> Result<Option<Ended>, IsolateError> {
        self.wait_with(WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
    }

    fn wait_with(&mut self, options: WaitIdOptions) -> Result<Option<Ended>, IsolateError> {
        if self.ended.is_some() {
            return Ok(self.ended);
        }
        let status = rustix::io::retry_on_intr(|| waitid(WaitId::PidFd(self.pidfd.as_fd()), options))
            .map_err(system("wait for the sandbox"))?;
        let Some(status) = status else { return Ok(None) };
        let of_init = match status.terminating_signal() {
            Some(signal) => Ended::Signaled(signal),
            None => Ended::Exited(status.exit_status().unwrap_or(0) as u8),
        };
        self.ended = Some(self.status_left_by_init().unwrap_or(of_init));
        Ok(self.ended)
    }

    /// What our process 1 wrote before it ended; nothing where it was killed.
    fn status_left_by_init(&mut self) -> Option<Ended> {
        let mut raw = [0u8; 4];
        std::fs::File::from(self.status.take()?).read_exact(&mut raw).ok()?;
        Some(Ended::from_wait(i32::from_ne_bytes(raw)))
    }

    /// Ends what still runs and removes what a launch leaves on the host. May be called again.
    pub fn cleanup(&mut self) -> Result<(), IsolateError> {
        if self.clean {
            return Ok(());
        }
        self.kill();
        self.wait()?;
        // The thread holds the network namespace.
        self.serving = None;
        let groups = self.cgroups.remove();
        if let Some(interface) = &self.interface {
            network::delete(interface)?;
        }
        groups?;
        self.clean = true;
        Ok(())
    }

    /// As [`Running::cleanup`], where an earlier error is what counts.
    pub(crate) fn abandon(mut self) {
        let _ = self.cleanup();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.cleanup();
    }
}
