//! Runs the template's health check at its interval.

use std::time::Duration;

use abx_client::Client;
use tokio::time::{Instant, sleep_until};

use crate::settings::HealthCheck;
use crate::{Health, SandboxSettings};

/// Watches the health.
pub(super) struct Checks {
    /// `None`: never.
    check: Option<HealthCheck>,
    user: String,
    client: Client,
    failures: u32,
    last: Health,
    next: Instant,
    /// What the last check that failed had to say last.
    complaint: Option<String>,
}

impl Checks {
    pub(super) fn new(settings: &SandboxSettings, client: Client) -> Self {
        let check = settings.healthcheck.clone();
        let next = Instant::now() + check.as_ref().map_or(Duration::ZERO, interval);
        Self {
            check,
            user: settings.user.clone(),
            client,
            failures: 0,
            last: Health::Starting,
            next,
            complaint: None,
        }
    }

    /// How many failures in a row make it unhealthy, and what the last one said.
    pub(super) fn complaint(&self) -> (u64, Option<String>) {
        (self.check.as_ref().map_or(0, |check| check.retries.into()), self.complaint.clone())
    }

    /// Returns each change of health. May be dropped and called again; a check that was under way does not count.
    pub(super) async fn changed(&mut self) -> Health {
        let Some(check) = &self.check else { return std::future::pending().await };
        loop {
            sleep_until(self.next).await;
            let limit = Duration::from_secs_f64(check.timeout);
            let outcome = self.client.exec_probe(check.command.as_str(), Some(&self.user), limit).await;
            let passed = outcome.as_ref().is_ok_and(|outcome| outcome.exit_code == 0);
            if !passed {
                self.complaint =
                    outcome.ok().and_then(|outcome| Some(outcome.output.lines().last()?.to_owned()));
            }
            self.next = Instant::now() + interval(check);
            self.failures = if passed { 0 } else { self.failures + 1 };
            let health = match (passed, self.failures >= check.retries) {
                (true, _) => Health::Healthy,
                (false, true) => Health::Unhealthy,
                (false, false) => self.last,
            };
            if health != self.last {
                self.last = health;
                return health;
            }
        }
    }
}

fn interval(check: &HealthCheck) -> Duration {
    Duration::from_secs_f64(check.interval)
}
