//! An image's configuration as lines.

use std::collections::BTreeMap;

use serde_json::Value;

/// What of a configuration is compared.
const KEYS: [&str; 11] = [
    "Cmd",
    "Entrypoint",
    "ExposedPorts",
    "Healthcheck",
    "Labels",
    "OnBuild",
    "Shell",
    "StopSignal",
    "User",
    "Volumes",
    "WorkingDir",
];

/// A line for each key that says something, and for each variable.
pub(crate) fn lines(config: &Value) -> Vec<String> {
    let said = |key: &str| config.get(key).filter(|value| is_said(value));
    let mut lines: Vec<String> =
        KEYS.iter().filter_map(|key| Some(format!("config {key} {}", sorted(said(key)?)))).collect();
    let variables = said("Env").and_then(Value::as_array);
    lines.extend(
        variables.into_iter().flatten().filter_map(|variable| Some(format!("env {:?}", variable.as_str()?))),
    );
    lines
}

/// A value with the names of an object in order.
fn sorted(value: &Value) -> String {
    match value.as_object() {
        Some(object) => {
            let sorted: BTreeMap<&String, &Value> = object.iter().collect();
            serde_json::to_string(&sorted).expect("JSON")
        }
        None => value.to_string(),
    }
}

fn is_said(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    }
}

/// A line for each instruction that was done, the first of all left out: it is the base's.
pub(crate) fn history<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    lines.skip(1).map(|line| format!("history {line:?}")).collect()
}
