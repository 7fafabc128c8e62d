//! `capabilities`, `health` and `resources`: what is known of a sandbox without a look into it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use abx_spec::At;
use serde_json::Value;

use super::finding::{Finding, Unseen};
use crate::{Context, Error, Sandbox};

const PAUSE: Duration = Duration::from_millis(100);

/// Whether the sandbox has these and no others.
pub(super) fn capabilities(sandbox: &Sandbox, words: &At<Vec<String>>) -> Result<Finding, Unseen> {
    let mut finding = Finding::default();
    let info = sandbox.info();
    let actual: BTreeSet<&str> =
        info.live.iter().flat_map(|live| &live.capabilities).map(String::as_str).collect();
    let wanted: BTreeSet<&str> = words.value.iter().map(String::as_str).collect();
    if actual != wanted {
        let list = |words: BTreeSet<&str>| words.into_iter().collect::<Vec<_>>().join(", ");
        finding.miss(&words.place, "capabilities", list(wanted), list(actual));
    }
    Ok(finding)
}

/// Whether its health comes to this within so many seconds.
pub(super) async fn health(
    context: &Context,
    sandbox: &Sandbox,
    word: &At<String>,
    within: f64,
) -> Result<Finding, Unseen> {
    let until = Instant::now() + Duration::from_secs_f64(within);
    loop {
        let info = crate::find(context, sandbox.id())?.info();
        let health = info.live.map(|live| live.health);
        let health = serde_json::to_value(health).map_err(unserialized)?;
        let actual = health.as_str().unwrap_or_default();
        if actual == word.value || Instant::now() >= until {
            let mut finding = Finding::default();
            finding.same(word, "health", actual.to_owned());
            return Ok(finding);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether `abx info` has these values.
pub(super) fn resources(sandbox: &Sandbox, wishes: &[(&'static str, At<Value>)]) -> Result<Finding, Unseen> {
    let mut finding = Finding::default();
    let info = serde_json::to_value(sandbox.info()).map_err(unserialized)?;
    for (key, At { value, place }) in wishes {
        let actual = match *key {
            "ports" => guests(&info["ports"]),
            key => info[key].clone(),
        };
        if !are_same(value, &actual) {
            finding.miss(place, *key, shown(value), shown(&actual));
        }
    }
    Ok(finding)
}

fn unserialized(error: serde_json::Error) -> Error {
    Error::Interrupted { source: error.into() }
}

/// The numbers of ports as the sandbox has them, in order.
fn guests(ports: &Value) -> Value {
    let mut numbers: Vec<u64> =
        ports.as_array().into_iter().flatten().filter_map(|port| port["guest"].as_u64()).collect();
    numbers.sort_unstable();
    Value::from(numbers)
}

/// 1 and 1.0 are one number.
fn are_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
