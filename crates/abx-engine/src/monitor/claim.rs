//! A sandbox of a pool becomes somebody's.

use abx_client::Client;
use abx_isolate::Running;

use super::inherited::Inherited;
use super::plan::{hostname, hostname_files};
use crate::Record;
use crate::control::Claim;
use crate::record::now;
use crate::start::claim_name;

/// Gives it the name and the environment that were asked for. The lock of the name is held by this process from now on.
pub(super) async fn claim(
    inherited: &mut Inherited,
    record: &mut Record,
    claim: Claim,
    client: &Client,
    running: &Running,
) -> Result<(), String> {
    let lock = claim.name.as_deref().map(|name| claim_name(&inherited.home, name)).transpose();
    let lock = lock.map_err(|error| error.to_string())?;
    if !claim.env.is_empty() {
        client.set_env(&claim.env).await.map_err(|error| error.to_string())?;
    }
    inherited.locks.extend(lock);
    let settings = &mut record.settings;
    for (name, value) in claim.env {
        settings.env.retain(|(known, _)| *known != name);
        settings.env.push((name, value));
    }
    settings.name = claim.name;
    if settings.name.is_some() {
        let name = hostname(record.id.as_str(), settings);
        // It has the name among sandboxes, whatever it calls itself.
        let _ = running.rename(&name, &hostname_files(&name));
    }
    settings.timeout = claim.timeout;
    settings.idle_timeout = claim.idle_timeout;
    record.created = now();
    record.kept = settings.persistent;
    record.pooled = false;
    if record.kept {
        crate::clean::keep(&inherited.home, &inherited.dir).map_err(|error| error.to_string())?;
    }
    Ok(())
}
