//! `sandbox` and `capabilities`.

use super::keys;
use super::reader::{Fields, Reader};
use crate::limits::{CAPABILITIES, DEFAULT_PROBE_INTERVAL, DEFAULT_PROBE_TIMEOUT, is_capability};
use crate::near::nearest;
use crate::problem::Problem;
use crate::spec::{At, Check, Clearable, Mode, Probe, Sandbox};
use crate::yaml::{Node, Value};

pub(super) fn read(reader: &mut Reader<'_>, node: &Node, cleared: &mut Vec<Clearable>) -> Sandbox {
    let fields = reader.fields(node, "sandbox", keys::SANDBOX);
    if fields.is_null("startup_command") {
        cleared.push(Clearable::StartupCommand);
    }
    if fields.is_null("readiness_probe") {
        cleared.push(Clearable::ReadinessProbe);
    }
    Sandbox {
        mode: fields.get("mode").and_then(|node| mode(reader, node)),
        workdir: absolute(reader, &fields, "workdir", "sandbox.workdir"),
        user: user(reader, &fields),
        shell: absolute(reader, &fields, "shell", "sandbox.shell"),
        startup_command: fields
            .get("startup_command")
            .and_then(|node| reader.text(node, "sandbox.startup_command")),
        readiness_probe: fields.get("readiness_probe").and_then(|node| probe(reader, node)),
    }
}

fn mode(reader: &mut Reader<'_>, node: &Node) -> Option<Mode> {
    match reader.one_of(node, "sandbox.mode", &["ephemeral", "persistent"])? {
        "persistent" => Some(Mode::Persistent),
        _ => Some(Mode::Ephemeral),
    }
}

/// An absolute path inside the sandbox.
pub(super) fn absolute(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    name: &str,
    key: &'static str,
) -> Option<String> {
    let node = fields.get(name)?;
    let path = reader.text(node, key)?.value;
    if !path.starts_with('/') || path.chars().any(char::is_control) {
        reader.fault(Problem::PathNotAbsolute { key, path }, node.span);
        return None;
    }
    if path.split('/').any(|part| part == "..") {
        reader.fault(Problem::PathGoesUp { key, path }, node.span);
        return None;
    }
    Some(path)
}

pub(super) fn user(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<String> {
    let node = fields.get("user")?;
    let text = reader.text(node, "user")?.value;
    let is_sound = text.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && text
            .bytes()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || b"_-".contains(&letter))
        && text.len() <= 32;
    if !is_sound {
        reader.fault(Problem::User { text }, node.span);
        return None;
    }
    Some(text)
}

fn probe(reader: &mut Reader<'_>, node: &Node) -> Option<At<Probe>> {
    const SECTION: &str = "sandbox.readiness_probe";
    let fields = reader.fields(node, SECTION, keys::PROBE);
    let interval = reader.seconds(&fields, SECTION, "interval").unwrap_or(DEFAULT_PROBE_INTERVAL);
    let timeout = reader.seconds(&fields, SECTION, "timeout").unwrap_or(DEFAULT_PROBE_TIMEOUT);
    let Some(kind) = fields.get("type") else {
        if matches!(node.value, Value::Map(_)) {
            reader.fault(Problem::Missing { key: "sandbox.readiness_probe.type" }, node.span);
        }
        return None;
    };
    let (kind, wanted, unused) =
        match reader.one_of(kind, "sandbox.readiness_probe.type", &["tcp", "exec"])? {
            "tcp" => ("tcp", "port", "command"),
            _ => ("exec", "command", "port"),
        };
    if let Some(entry) = fields.entry(unused).filter(|entry| !entry.node.is_null()) {
        reader.fault(Problem::ProbeUnused { kind, key: unused }, entry.key_span);
    }
    let Some(value) = fields.get(wanted) else {
        reader.fault(Problem::ProbeNeeds { kind, key: wanted }, node.span);
        return None;
    };
    let check = if kind == "tcp" {
        Check::Tcp(reader.port(value, "sandbox.readiness_probe.port")?.value)
    } else {
        Check::Exec(reader.text(value, "sandbox.readiness_probe.command")?.value)
    };
    Some(reader.at(Probe { check, interval, timeout }, node.span))
}

/// The words of `capabilities`, each once; an empty list grants nothing.
pub(super) fn capabilities(reader: &mut Reader<'_>, top: &Fields<'_>) -> Option<At<Vec<String>>> {
    let node = top.get("capabilities")?;
    let mut words: Vec<String> = Vec::new();
    for item in reader.items(top, "", "capabilities") {
        let Some(word) = reader.text(item, "capabilities").map(|word| word.value) else { continue };
        if !is_capability(&word) {
            let near = nearest(&word, CAPABILITIES.iter().copied());
            reader.fault(Problem::Capability { word, near }, item.span);
        } else if words.contains(&word) {
            reader.warn(Problem::CapabilityTwice { word }, item.span);
        } else {
            words.push(word);
        }
    }
    Some(reader.at(words, node.span))
}
