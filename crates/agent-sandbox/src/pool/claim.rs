//! A sandbox that waits becomes the caller's.

use abx_engine::control::{self, Claim};
use abx_engine::{EngineError, Record, SandboxId, SandboxSettings};
use abx_image::Digest;

use super::place::{Place, absolute};
use super::talk;
use crate::{Context, CreateRequest};

/// What a sandbox is, but for what a claim can still give it: two of the same fingerprint are the same to whoever creates
/// one.
pub(crate) fn fingerprint(settings: &SandboxSettings, template: &str) -> String {
    let bare = SandboxSettings { name: None, timeout: 0, idle_timeout: 0, ..settings.clone() };
    let text = serde_json::to_string(&(bare, template)).expect("settings are plain data");
    Digest::of(text.as_bytes()).hex()[..40].to_owned()
}

/// Takes a sandbox out of a pool, if one waits that comes to what is asked for. `bare` is that without the caller's
/// variables.
pub(crate) async fn claim(
    context: &Context,
    request: &CreateRequest,
    bare: &SandboxSettings,
    settings: &SandboxSettings,
    template: &str,
) -> Option<Record> {
    let places = Place::all(&context.home);
    if places.is_empty() || !can_be_given(request, settings) {
        return None;
    }
    let fingerprint = fingerprint(bare, template);
    let claim = Claim {
        name: settings.name.clone(),
        env: request.env.clone(),
        timeout: settings.timeout,
        idle_timeout: settings.idle_timeout,
    };
    for place in &places {
        for id in ready(place, &fingerprint) {
            match control::claim(&context.home, &id, claim.clone()).await {
                Ok(record) => {
                    // The keeper will do so too; others need not try until then.
                    let _ = std::fs::remove_file(place.ready(&fingerprint).join(id.as_str()));
                    return Some(record);
                }
                // Another was faster, or it is gone.
                Err(EngineError::PoolLeft { .. } | EngineError::MonitorSilent { .. }) => {}
                // No other could be given that either: its name, say.
                Err(_) => return None,
            }
        }
    }
    // The keeper may not know yet that its template has come to something else.
    if let Ok(reference) = absolute(context, &request.reference)
        && let place = Place::of(&context.home, &reference)
        && places.contains(&place)
    {
        talk::look(&place).await;
    }
    None
}

/// Variables reach what is started from now on; what runs already has none of them.
fn can_be_given(request: &CreateRequest, settings: &SandboxSettings) -> bool {
    request.env.is_empty() || settings.startup_command.is_none()
}

/// Sandboxes that wait, in an order of the caller's own: of many who come at once, few try the same.
fn ready(place: &Place, fingerprint: &str) -> Vec<SandboxId> {
    let entries = std::fs::read_dir(place.ready(fingerprint)).into_iter().flatten().flatten();
    let mut ids: Vec<SandboxId> =
        entries.filter_map(|entry| SandboxId::parse(entry.file_name().to_str()?)).collect();
    if !ids.is_empty() {
        let first = std::process::id() as usize % ids.len();
        ids.rotate_left(first);
    }
    ids
}
