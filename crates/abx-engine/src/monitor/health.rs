//! Runs the template's health check at its interval.

use std::time::Duration;

use abx_client::Client;
use tokio::time::{Instant, sleep_until};

use crate::settings::HealthCheck;
use crate::{Health, SandboxSettings};

/// Longer than any sandbox lives, and short enough to be added to a time.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Watches the health.
pub(super) struct Checks {
    /// `None`: never.
    check: Option<HealthCheck>,
    user: String,
    client: Client,
    failures: u32,
    last: Health,
    next: Instant,
    /// Failures before this do not count while none has passed.
    grace: Instant,
    /// What the last check that failed had to say last.
    complaint: Option<String>,
}

impl Checks {
    pub(super) fn new(settings: &SandboxSettings, client: Client) -> Self {
        let check = settings.healthcheck.clone();
        let start_period = check.as_ref().map_or(Duration::ZERO, |check| seconds(check.start_period));
        let next = Instant::now() + check.as_ref().map_or(Duration::ZERO, interval);
        Self {
            check,
            user: settings.user.clone(),
            client,
            failures: 0,
            last: Health::Starting,
            next,
            grace: Instant::now() + start_period,
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
            let limit = seconds(check.timeout);
            let outcome = self.client.exec_probe(check.command.as_str(), Some(&self.user), limit).await;
            let passed = outcome.as_ref().is_ok_and(|outcome| outcome.exit_code == 0);
            if !passed {
                self.complaint =
                    outcome.ok().and_then(|outcome| Some(outcome.output.lines().last()?.to_owned()));
            }
            self.next = Instant::now() + interval(check);
            if !passed && self.last == Health::Starting && Instant::now() < self.grace {
                continue;
            }
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
    seconds(check.interval)
}

/// So many; what is no length of time is the longest.
fn seconds(count: f64) -> Duration {
    Duration::try_from_secs_f64(count).map_or(FOREVER, |time| time.min(FOREVER))
}
