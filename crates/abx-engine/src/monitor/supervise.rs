//! Looks after a ready sandbox until there is a reason to end it.

use std::fs::File;
use std::time::Duration;

use abx_client::Client;
use abx_isolate::Running;
use tokio::io::AsyncReadExt;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::clock::Clock;
use super::end::End;
use super::health::Checks;
use super::idle::{Idle, visits};
use super::inherited::Inherited;
use super::parts::Parts;
use super::requests::{self, Asked, answer, refuse};
use super::{causes, claim, ports, ready};
use crate::control::{Answer, IN_NO_POOL, Request};
use crate::{Cause, EndReason, Health, Record, State};

/// A sandbox that is looked after.
pub(super) struct Supervisor<'a> {
    inherited: &'a mut Inherited,
    running: &'a Running,
    record: &'a mut Record,
    clock: Clock,
    /// When it has been unhealthy for too long.
    given_up: Option<Instant>,
    /// Who wants it to stand still, and who has to wait for that.
    held: Option<UnixStream>,
    waiting: Vec<Asked>,
    /// It was paused for want of use, and whoever connects to a port of it wakes it.
    dozes: bool,
}

impl<'a> Supervisor<'a> {
    pub(super) fn new(
        inherited: &'a mut Inherited,
        running: &'a Running,
        record: &'a mut Record,
        clock: Clock,
    ) -> Self {
        Self {
            inherited,
            running,
            record,
            clock,
            given_up: None,
            held: None,
            waiting: Vec::new(),
            dozes: false,
        }
    }

    /// Returns why the sandbox is to end or stop. In a pool it lives as long as somebody holds the other end of `tie`.
    pub(super) async fn supervise(mut self, mut parts: Parts, tie: Option<File>) -> End {
        let crashed = || End::of(EndReason::Crashed);
        // SAFETY: the borrow keeps the descriptor open as long as the registration lives.
        let Ok(exited) = (unsafe { AsyncFd::register(self.running.pidfd()) }) else { return crashed() };
        let Ok(mut terminated) = signal(SignalKind::terminate()) else { return crashed() };
        let mut checks = Checks::new(&self.record.settings, parts.client.clone());
        let relays = self.running.activity().cloned();
        let mut idle = Idle::new(self.record.settings.idle_timeout, parts.client.clone(), relays);
        let mut tie = tie;
        let visited = visits(self.running);
        loop {
            // A frozen one cannot answer.
            let moves = self.record.state == State::Running && self.held.is_none();
            let idles = moves && !self.record.pooled;
            tokio::select! {
                _ = exited.readable() => return End::of(causes::death(&self.record.settings, self.running)),
                _ = terminated.recv() => return End::of(self.terminated()),
                () = self.clock.is_up() => {
                    if let Some(end) = self.time_is_up() {
                        return end;
                    }
                }
                () = ready::gone(tie.as_ref()), if tie.is_some() => return End::of(EndReason::Killed),
                Some((request, stream)) = parts.asked.recv() => {
                    if let Some(end) = self.asked(request, stream, &mut idle, &parts.client).await {
                        return end;
                    }
                    if !self.record.pooled {
                        tie = None;
                    }
                }
                () = requests::let_go(self.held.as_mut()) => {
                    if let Some(end) = self.release(&mut idle, &parts.client).await {
                        return end;
                    }
                }
                health = checks.changed(), if moves => self.set_health(health),
                () = until(self.given_up), if moves => return End::of(causes::unhealthy(&checks)),
                () = startup_ended(&mut parts.guest), if moves => {
                    if let Some(cause) = causes::startup_ended(&parts.client, &self.record.settings, self.running).await {
                        return End::of(cause);
                    }
                }
                () = visited.notified(), if self.dozes && self.held.is_none() => self.wake(&mut idle),
                () = idle.expired(), if idles => {
                    if let Some(end) = self.idle(&mut idle) {
                        return end;
                    }
                }
            }
        }
    }

    async fn asked(
        &mut self,
        request: Request,
        stream: UnixStream,
        idle: &mut Idle,
        client: &Client,
    ) -> Option<End> {
        match request {
            Request::Kill => return Some(End::asked(EndReason::Killed, stream)),
            // A stop would leave less than what is being looked at.
            request if self.held.is_some() => self.waiting.push((request, stream)),
            Request::Claim(claim) if self.record.pooled => {
                let claimed = claim::claim(self.inherited, self.record, claim, client, self.running).await;
                if claimed.is_ok() {
                    self.clock.wind(self.record);
                    idle.set_limit(self.record.settings.idle_timeout);
                }
                self.answer(stream, claimed).await;
            }
            _ if self.record.pooled => refuse(stream, "it waits in a pool").await,
            Request::Claim(_) => refuse(stream, IN_NO_POOL).await,
            Request::Pause => {
                let paused = self.set_paused(true);
                self.answer(stream, paused).await;
            }
            Request::Resume { timeout } => {
                let resumed = self.resume(timeout);
                idle.touch();
                self.answer(stream, resumed).await;
            }
            Request::Stop => {
                // From now on it outlives this process.
                self.record.kept = true;
                return Some(End::asked(EndReason::Stopped, stream));
            }
            Request::Timeout { seconds } => {
                self.set_timeout(seconds);
                self.answer(stream, Ok(())).await;
            }
            Request::Extend { seconds } => {
                self.clock.extend(self.record, seconds);
                self.answer(stream, Ok(())).await;
            }
            Request::Hold => self.hold(stream).await,
            Request::Refusals => answer(stream, &Answer::Refusals(self.running.refusals())).await,
            Request::Egress(policy) => {
                let set = self.running.set_egress(&policy).map_err(|error| error.to_string());
                if set.is_ok() {
                    self.record.settings.egress = Some(policy);
                }
                self.answer(stream, set).await;
            }
            Request::Forward(port) => {
                let forwarded = ports::forward(&self.inherited.dir, self.running, self.record, port);
                answer(stream, &forwarded.unwrap_or_else(Answer::Error)).await;
            }
        }
        None
    }

    /// Writes down what has become of the sandbox, and tells.
    async fn answer(&mut self, stream: UnixStream, done: Result<(), String>) {
        let written =
            done.and_then(|()| self.record.write(&self.inherited.dir).map_err(|error| error.to_string()));
        let told = match written {
            Ok(()) => Answer::Ok(Box::new(self.record.clone())),
            Err(reason) => Answer::Error(reason),
        };
        answer(stream, &told).await;
    }

    /// Freezes or thaws it; its clock stands still while it is frozen.
    fn set_paused(&mut self, paused: bool) -> Result<(), String> {
        let freezer = self.running.cgroups();
        let result = if paused { freezer.freeze() } else { freezer.thaw() };
        result.map_err(|error| error.to_string())?;
        self.record.state = if paused { State::Paused } else { State::Running };
        self.dozes = false;
        if paused {
            self.clock.halt(self.record);
        }
        Ok(())
    }

    fn resume(&mut self, timeout: Option<u64>) -> Result<(), String> {
        if self.record.state == State::Running {
            return Ok(());
        }
        self.set_paused(false)?;
        match timeout {
            Some(seconds) => self.clock.set(self.record, Some(seconds)),
            None => self.clock.wind(self.record),
        }
        if self.given_up.is_some() {
            self.set_health(Health::Unhealthy);
        }
        Ok(())
    }

    fn set_timeout(&mut self, seconds: Option<u64>) {
        if self.record.state == State::Running {
            self.clock.set(self.record, seconds);
        } else {
            self.record.settings.timeout = seconds.unwrap_or(0);
        }
    }

    /// Lets nothing move as long as `stream` stays open.
    async fn hold(&mut self, mut stream: UnixStream) {
        if self.record.state == State::Running
            && let Err(error) = self.running.cgroups().freeze()
        {
            return refuse(stream, &error.to_string()).await;
        }
        requests::say(&mut stream, &Answer::Ok(Box::new(self.record.clone()))).await;
        self.held = Some(stream);
    }

    /// Nobody wants it to stand still any more: it goes on, and so do those who had to wait.
    async fn release(&mut self, idle: &mut Idle, client: &Client) -> Option<End> {
        self.held = None;
        if self.record.state == State::Running {
            // Fails only where there is nothing to thaw.
            let _ = self.running.cgroups().thaw();
        }
        idle.touch();
        for (request, stream) in std::mem::take(&mut self.waiting) {
            if let Some(end) = Box::pin(self.asked(request, stream, idle, client)).await {
                return Some(end);
            }
        }
        None
    }

    fn time_is_up(&mut self) -> Option<End> {
        let timeout = Cause::of(EndReason::Timeout, self.record.settings.timeout);
        if !self.record.settings.pause_on_timeout {
            return Some(End::of(timeout));
        }
        self.pause_unasked().is_err().then(|| End::of(timeout))
    }

    fn idle(&mut self, idle: &mut Idle) -> Option<End> {
        if !self.record.settings.persistent {
            return Some(End::of(Cause::of(EndReason::Idle, self.record.settings.idle_timeout)));
        }
        match self.pause_unasked() {
            Ok(()) => self.dozes = true,
            Err(_) => idle.touch(),
        }
        None
    }

    /// Somebody has connected to a port of it; or had, before it was paused.
    fn wake(&mut self, idle: &mut Idle) {
        let is_visited = self.running.activity().is_some_and(|relays| relays.open() > 0);
        if is_visited && self.resume(None).is_ok() {
            idle.touch();
            // A record that cannot be written now is written at the next change.
            let _ = self.record.write(&self.inherited.dir);
        }
    }

    fn pause_unasked(&mut self) -> Result<(), String> {
        self.set_paused(true)?;
        // A record that cannot be written now is written at the next change.
        let _ = self.record.write(&self.inherited.dir);
        Ok(())
    }

    fn set_health(&mut self, health: Health) {
        self.record.health = health;
        let patience = Duration::from_secs(self.record.settings.unhealthy_timeout);
        let gives_up = health == Health::Unhealthy && !patience.is_zero();
        self.given_up = gives_up.then(|| Instant::now() + patience);
        // As above; the sandbox itself is not affected.
        let _ = self.record.write(&self.inherited.dir);
    }

    /// The host shuts down, or somebody means this sandbox alone.
    fn terminated(&self) -> Cause {
        if self.record.kept { EndReason::Stopped.into() } else { EndReason::Killed.into() }
    }
}

/// Returns at that moment, if there is one.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Returns when the daemon says that the startup command has ended.
async fn startup_ended(guest: &mut UnixStream) {
    let mut line = [0; 64];
    // The end of the connection is the end of process 1, which is seen elsewhere.
    if !guest.read(&mut line).await.is_ok_and(|length| length > 0) {
        std::future::pending().await
    }
}
