//! The time a sandbox has. It runs from when the sandbox is ready; while it is paused or stopped it stands still, and
//! whoever lets it run on winds it up anew.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::Record;
use crate::record::now;

/// The one place that says when the time is up, here and in the record.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// `None` while it stands still, and for ever.
    end: Option<Instant>,
}

impl Clock {
    /// So many seconds from now; `None` for ever.
    pub(super) fn set(&mut self, record: &mut Record, seconds: Option<u64>) {
        // More than a century is for ever.
        const CENTURY: u64 = 100 * 365 * 24 * 3600;
        let seconds = seconds.filter(|seconds| *seconds < CENTURY);
        self.end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        record.ends = seconds.map(|seconds| now() + seconds);
    }

    /// The sandbox's own timeout from now.
    pub(super) fn wind(&mut self, record: &mut Record) {
        let timeout = record.settings.timeout;
        self.set(record, (timeout > 0).then_some(timeout));
    }

    /// At least so many seconds from now.
    pub(super) fn extend(&mut self, record: &mut Record, seconds: u64) {
        if self.end.is_some_and(|end| end < Instant::now() + Duration::from_secs(seconds)) {
            self.set(record, Some(seconds));
        }
    }

    /// Stands still.
    pub(super) fn halt(&mut self, record: &mut Record) {
        self.end = None;
        record.ends = None;
    }

    /// Returns when the time is up.
    pub(super) async fn is_up(&self) {
        match self.end {
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    }
}
