//! Runs the template's health check at its interval.

use std::time::Duration;

use abx_client::Client;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::Health;
use crate::settings::HealthCheck;

/// Tells each change of health; ends when nobody listens.
pub(super) async fn watch(client: Client, check: HealthCheck, user: String, tell: mpsc::Sender<Health>) {
    let mut failures = 0;
    let mut last = Health::Starting;
    loop {
        sleep(Duration::from_secs_f64(check.interval)).await;
        let limit = Duration::from_secs_f64(check.timeout);
        let passed = client.exec_probe(check.command.as_str(), Some(&user), limit).await;
        let passed = passed.is_ok_and(|outcome| outcome.exit_code == 0);
        failures = if passed { 0 } else { failures + 1 };
        let health = match (passed, failures >= check.retries) {
            (true, _) => Health::Healthy,
            (false, true) => Health::Unhealthy,
            (false, false) => last,
        };
        if health != last {
            last = health;
            if tell.send(health).await.is_err() {
                return;
            }
        }
    }
}
