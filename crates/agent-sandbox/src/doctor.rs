//! What this host lacks for which feature, and what crashed runs have left behind.

use serde::Serialize;

use crate::{Context, Error};

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub checks: Vec<Check>,
    /// Things of ours that nobody owns any more: what each is, in words. After `--clean`: what was removed.
    pub leftovers: Vec<String>,
    /// Whether the leftovers were removed.
    pub cleaned: bool,
}

/// One feature of the host.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What needs it: `user namespaces`.
    pub feature: String,
    pub ok: bool,
    /// What was found.
    pub detail: String,
    /// The command that mends it; `None` where all is well or there is none.
    pub fix: Option<String>,
}

/// Looks at the host and at our own state; removes what crashed runs left where `clean`.
///
/// Safe beside running creates: only what no live process owns counts as left behind.
pub fn doctor(context: &Context, clean: bool) -> Result<Report, Error> {
    let checks = abx_isolate::host_report()
        .into_iter()
        .map(|check| Check {
            feature: check.feature.to_string(),
            ok: check.ok,
            detail: check.detail,
            fix: check.fix.map(str::to_owned),
        })
        .collect();
    let mut leftovers = abx_engine::clean::clean(&context.home, clean)?;
    leftovers.extend(crate::pool::clean(&context.home, clean)?);
    Ok(Report { checks, leftovers, cleaned: clean })
}
