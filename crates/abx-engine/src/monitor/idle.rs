//! Tells when nothing has happened in a sandbox for its idle timeout.
//!
//! Activity is: a call to the daemon inside, output of a process that a call started, a connection to a forwarded
//! port, anything that passes the relays. The daemon knows when it was last busy; the relays only count, so they
//! are looked at several times within the timeout.

use std::sync::Arc;
use std::time::Duration;

use abx_client::Client;
use abx_isolate::{Activity, Running};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Looks at the relays within one timeout.
const LOOKS: u32 = 4;

/// Notified of every connection to a forwarded port.
pub(super) fn visits(running: &Running) -> Arc<Notify> {
    let visited = Arc::new(Notify::new());
    if let Some(relays) = running.activity() {
        let visited = visited.clone();
        relays.on_connection(move || visited.notify_one());
    }
    visited
}

/// Watches for the idle timeout.
pub(super) struct Idle {
    /// `None`: never.
    limit: Option<Duration>,
    client: Client,
    relays: Option<Arc<Activity>>,
    /// What had passed the relays at the last look, and when that last grew.
    passed: u64,
    passed_at: Instant,
    next_look: Instant,
}

impl Idle {
    /// `seconds` of 0 mean never.
    pub(super) fn new(seconds: u64, client: Client, relays: Option<Arc<Activity>>) -> Self {
        let limit = (seconds > 0).then(|| Duration::from_secs(seconds));
        let now = Instant::now();
        let next_look = now + limit.unwrap_or_default() / LOOKS;
        Self { limit, client, relays, passed: 0, passed_at: now, next_look }
    }

    /// Starts the time anew.
    pub(super) fn touch(&mut self) {
        self.passed_at = Instant::now();
        self.next_look = self.passed_at + self.limit.unwrap_or_default() / LOOKS;
    }

    /// Another limit, from now; 0 seconds mean never.
    pub(super) fn set_limit(&mut self, seconds: u64) {
        self.limit = (seconds > 0).then(|| Duration::from_secs(seconds));
        self.touch();
    }

    /// Returns when the sandbox has been idle for its timeout. May be dropped and called again.
    pub(super) async fn expired(&mut self) {
        let Some(limit) = self.limit else { return std::future::pending().await };
        loop {
            sleep_until(self.next_look).await;
            let idle = self.idle_for().await;
            if idle >= limit {
                return;
            }
            self.next_look = Instant::now() + (limit - idle).min(limit / LOOKS);
        }
    }

    /// How long nothing has happened. A daemon that does not answer is not taken for idle.
    async fn idle_for(&mut self) -> Duration {
        let now = Instant::now();
        if let Some(relays) = &self.relays
            && (relays.bytes() != self.passed || relays.open() > 0)
        {
            self.passed = relays.bytes();
            self.passed_at = now;
        }
        let Ok(guest) = self.client.activity().await else { return Duration::ZERO };
        Duration::from_secs_f64(guest.idle_seconds).min(now - self.passed_at)
    }
}
