//! How far an operation goes for what it needs.

use abx_core::Secret;

/// Where from, how fresh, and whether what was locked may drift.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FetchOptions {
    /// For GitHub, before any other.
    pub token: Option<Secret>,
    /// Asks, fetches and builds anew.
    pub no_cache: bool,
    /// Never leaves this machine.
    pub offline: bool,
    /// Fails where something differs from what `template.lock` says.
    pub frozen: bool,
}
