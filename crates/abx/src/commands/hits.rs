//! Limits that were hit, and ways out that were refused, while something ran in a sandbox.

use agent_sandbox::Sandbox;
use agent_sandbox::sandbox::LimitHits;

use crate::EdgeError;

/// What had been hit before it began.
pub(super) struct Before {
    limits: LimitHits,
    refused: u64,
}

impl Before {
    pub(super) async fn of(sandbox: &Sandbox) -> Self {
        Self { limits: sandbox.limit_hits(), refused: sandbox.refusals().await.count }
    }

    /// What was hit meanwhile. What failed then failed of that, as far as anybody can tell.
    pub(super) async fn explain(&self, sandbox: &Sandbox) -> Option<EdgeError> {
        let (after, (_, memory, _, pids)) = (sandbox.limit_hits(), sandbox.limits());
        if after.memory_kills > self.limits.memory_kills {
            return Some(EdgeError::MemoryLimit { limit: memory });
        }
        if after.refused_forks > self.limits.refused_forks {
            return Some(EdgeError::ProcessLimit { limit: pids });
        }
        let report = sandbox.refusals().await;
        let count = report.count.saturating_sub(self.refused);
        let refusal = report.latest.into_iter().next_back().filter(|_| count > 0)?;
        Some(EdgeError::Egress { refusal, count })
    }

    /// As [`Self::explain`], for what has failed with `failure` already: the error that tells both.
    pub(super) async fn explain_failure(&self, sandbox: &Sandbox, failure: String) -> Option<EdgeError> {
        let hit = Box::new(self.explain(sandbox).await?);
        Some(EdgeError::FailedAtLimit { hit, failure })
    }
}
