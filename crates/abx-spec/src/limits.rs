//! Bounds and defaults, in one table.

use std::ops::RangeInclusive;

/// Cores.
pub const CPU: RangeInclusive<f64> = 0.1..=64.0;
/// MB.
pub const MEMORY: RangeInclusive<u64> = 64..=262_144;
/// MB.
pub const DISK: RangeInclusive<u64> = 256..=1_048_576;
/// Seconds, for `timeout` and `idle_timeout`.
pub const TIMEOUT: RangeInclusive<u64> = 1..=604_800;

/// What resources a template may ask for: the operator's say.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Cores.
    pub cpu: RangeInclusive<f64>,
    /// MB.
    pub memory: RangeInclusive<u64>,
    /// MB.
    pub disk: RangeInclusive<u64>,
    /// Seconds, for `timeout` and `idle_timeout`.
    pub timeout: RangeInclusive<u64>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { cpu: CPU, memory: MEMORY, disk: DISK, timeout: TIMEOUT }
    }
}

impl Bounds {
    /// As far as any operator may go.
    pub const WIDEST: Self =
        Self { cpu: 0.01..=1024.0, memory: 16..=1 << 24, disk: 64..=1 << 26, timeout: 1..=365 * 86_400 };
}

/// Seconds, for probes and health checks.
pub const PROBE_SECONDS: RangeInclusive<f64> = 0.01..=604_800.0;
/// Seconds.
pub const START_PERIOD: RangeInclusive<f64> = 0.0..=604_800.0;
/// Failures in a row.
pub const RETRIES: RangeInclusive<u64> = 1..=1000;

/// The words `capabilities` knows, beside those that begin with `x-`.
pub const CAPABILITIES: &[&str] = &["shell", "files", "code", "terminal", "ports"];
/// What a template can do whose lineage says nothing.
pub const DEFAULT_CAPABILITIES: &[&str] = &["shell", "files", "code"];
/// The words of `metadata.category`.
pub const CATEGORIES: &[&str] =
    &["language", "data-science", "web", "browser", "ai-ml", "devops", "database", "security"];

pub const DEFAULT_CPU: f64 = 1.0;
pub const DEFAULT_MEMORY: u64 = 2048;
pub const DEFAULT_DISK: u64 = 10_240;
pub const DEFAULT_PIDS: u64 = 2048;
pub const DEFAULT_TIMEOUT: u64 = 600;
pub const DEFAULT_IDLE_TIMEOUT: u64 = 300;
pub const DEFAULT_WORKDIR: &str = "/app";
pub const DEFAULT_USER: &str = "user";
pub const DEFAULT_VERSION: &str = "0.0.0";
pub const DEFAULT_PROBE_INTERVAL: f64 = 0.2;
pub const DEFAULT_PROBE_TIMEOUT: f64 = 30.0;
pub const DEFAULT_HEALTH_INTERVAL: f64 = 30.0;
pub const DEFAULT_HEALTH_TIMEOUT: f64 = 5.0;
pub const DEFAULT_HEALTH_RETRIES: u32 = 3;
pub const DEFAULT_HEALTH_START_PERIOD: f64 = 0.0;

/// Nodes of a file, aliases counted as often as they are used.
pub const NODES: usize = 20_000;
/// Collections within collections.
pub const DEPTH: usize = 32;
/// Bytes of a file.
pub const FILE_BYTES: usize = 1 << 20;

/// Nodes of an index of templates.
pub const INDEX_NODES: usize = 400_000;
/// Bytes of an index.
pub const INDEX_BYTES: usize = 8 << 20;

/// Whether `capabilities` may hold the word.
pub fn is_capability(word: &str) -> bool {
    let own = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter))
    };
    CAPABILITIES.contains(&word) || word.strip_prefix("x-").is_some_and(own)
}
