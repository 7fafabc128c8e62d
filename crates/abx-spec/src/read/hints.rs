//! What was probably meant by a value of the wrong kind.

use crate::yaml::{Entry, Meaning, Node, Scalar, Value};

/// Of something else in the place of a map.
pub(super) fn map(section: &str, node: &Node) -> Option<String> {
    let Value::Scalar(scalar) = &node.value else {
        return Some(match section {
            "packages" => "write `packages: {pip: […], apt: […], npm: […]}`".to_owned(),
            _ => "write its keys without dashes, one a line".to_owned(),
        });
    };
    let text = scalar.text.as_str();
    Some(match section {
        "base" if text.contains(':') => format!("write `base: {{image: {text:?}}}`"),
        "base" => {
            format!(
                "write `base: {{from: {text:?}}}` for a template, `base: {{image: {text:?}}}` for an image"
            )
        }
        "metadata" => format!("write `metadata: {{name: {text:?}}}`"),
        "agent" => format!("write `agent: {{description: {text:?}}}`"),
        "healthcheck" => format!("write `healthcheck: {{command: {text:?}}}`"),
        "sandbox.readiness_probe" => match (text, text.parse::<u16>()) {
            ("tcp", _) => "write `readiness_probe: {type: tcp, port: …}`".to_owned(),
            ("exec", _) => "write `readiness_probe: {type: exec, command: …}`".to_owned(),
            (_, Ok(port)) => format!("write `readiness_probe: {{type: tcp, port: {port}}}`"),
            _ => format!("write `readiness_probe: {{type: exec, command: {text:?}}}`"),
        },
        "copy" => copied(text, "src", "dest"),
        "files" => copied(text, "source", "target"),
        _ => return None,
    })
}

/// `a:b` and `a b` are how other tools write it.
fn copied(text: &str, source: &str, target: &str) -> String {
    match text.split_once([':', ' ']) {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => {
            format!("write `{{{source}: {:?}, {target}: {:?}}}`", from, to.trim())
        }
        _ => format!("write `{{{source}: {text:?}, {target}: …}}`"),
    }
}

/// Of something else in the place of the list `key`.
pub(super) fn list(key: &str, node: &Node) -> Option<String> {
    match &node.value {
        Value::Scalar(scalar) if scalar.plain && scalar.text.starts_with('-') => {
            Some("put a space behind the dash".to_owned())
        }
        Value::Scalar(scalar) if matches!(key, "copy" | "files") => {
            let names = if key == "copy" { ("src", "dest") } else { ("source", "target") };
            let entry = copied(&scalar.text, names.0, names.1);
            Some(entry.replacen("write `", &format!("write `{key}: ["), 1).replacen("}`", "}]`", 1))
        }
        Value::Scalar(scalar) => Some(format!("write `{key}: [{}]`", quoted(scalar))),
        Value::Map(_) => Some("write one entry a line, each with a dash and a space before it".to_owned()),
        Value::List(_) => None,
    }
}

/// Of something else in the place of a string. A command with `: ` in it is a map to YAML; a list of words is no command
/// line.
pub(super) fn text(node: &Node, key: &str) -> Option<String> {
    match &node.value {
        Value::List(_) if key.ends_with("command") || key == "entrypoint" => {
            Some("write the whole command as one string".to_owned())
        }
        Value::Map(entries) if entries.len() == 1 => Some(key_of(&entries[0])),
        _ => None,
    }
}

fn key_of(entry: &Entry) -> String {
    format!("quote the whole text: YAML takes `{}: ` for a key", entry.key)
}

/// Of a text in the place of a number.
pub(super) fn number(key: &str, scalar: &Scalar) -> Option<String> {
    let text = scalar.text.trim();
    if !scalar.plain && text.parse::<f64>().is_ok() {
        return Some(format!("write it without quotes: {text}"));
    }
    let last = key.rsplit('.').next().unwrap_or(key);
    match last {
        "timeout" | "idle_timeout" | "interval" | "start_period" => {
            seconds(text).map(|seconds| format!("it is in seconds: {seconds}"))
        }
        "ports" | "port" => {
            let inside = text.rsplit(':').next()?.trim_end_matches("/tcp").parse::<u16>().ok()?;
            Some(format!(
                "name the port inside alone: {inside}; `abx create --port HOST:GUEST` ties it to one of the host"
            ))
        }
        _ => None,
    }
}

/// `5m` is 300.
fn seconds(text: &str) -> Option<f64> {
    let end = text.find(|letter: char| letter.is_ascii_alphabetic())?;
    let count: f64 = text[..end].trim().parse().ok()?;
    let unit = match text[end..].to_ascii_lowercase().as_str() {
        "ms" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    };
    Some(count * unit)
}

fn quoted(scalar: &Scalar) -> String {
    if scalar.meaning() == Meaning::Text { format!("{:?}", scalar.text) } else { scalar.text.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_seconds() {
        for (text, expected) in
            [("5m", Some(300.0)), ("1.5 h", Some(5400.0)), ("10", None), ("5x", None), ("s", None)]
        {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
