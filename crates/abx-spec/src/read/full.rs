//! The full form.

use super::keys;
use super::reader::{Fields, Reader};
use super::value::join;
use crate::limits::{
    Bounds, CATEGORIES, DEFAULT_HEALTH_INTERVAL, DEFAULT_HEALTH_RETRIES, DEFAULT_HEALTH_START_PERIOD,
    DEFAULT_HEALTH_TIMEOUT, DEFAULT_VERSION, RETRIES, START_PERIOD,
};
use crate::near::nearest;
use crate::problem::Problem;
use crate::spec::{Agent, Base, Clearable, Healthcheck, Metadata, Network, Resources, Spec};
use crate::yaml::{Meaning, Node, Value};

pub(super) fn read(reader: &mut Reader<'_>, root: &Node) -> Spec {
    let top = reader.fields(root, "", keys::TOP);
    spec_version(reader, &top);
    let metadata = match top.get("metadata") {
        Some(node) => metadata(reader, node),
        None => {
            let empty = top.entry("metadata").map(|entry| entry.key_span);
            // One that is misspelt is told by its name.
            if empty.is_some() || !top.has_near("metadata", keys::TOP) {
                reader.fault(Problem::Missing { key: "metadata.name" }, empty.unwrap_or(top.span));
            }
            Metadata::default()
        }
    };
    let mut cleared = Vec::new();
    if top.is_null("healthcheck") {
        cleared.push(Clearable::Healthcheck);
    }
    Spec {
        metadata,
        base: top.get("base").and_then(|node| base(reader, node)),
        build: top.get("build").map(|node| super::build::read(reader, node)).unwrap_or_default(),
        resources: resources(reader, &top, &mut cleared),
        network: top.get("network").map(|node| network(reader, node, &mut cleared)).unwrap_or_default(),
        sandbox: top
            .get("sandbox")
            .map(|node| super::sandbox::read(reader, node, &mut cleared))
            .unwrap_or_default(),
        capabilities: super::sandbox::capabilities(reader, &top),
        agent: top.get("agent").map(|node| agent(reader, node)).unwrap_or_default(),
        healthcheck: top.get("healthcheck").and_then(|node| healthcheck(reader, node)),
        cleared,
    }
}

fn spec_version(reader: &mut Reader<'_>, top: &Fields<'_>) {
    let Some(node) = top.get("version") else {
        return reader.fault(Problem::Missing { key: "version" }, top.span);
    };
    match &node.value {
        Value::Scalar(scalar) if scalar.text == "1" && scalar.meaning() == Meaning::Text => {}
        Value::Scalar(scalar) => reader.fault(Problem::SpecVersion { text: scalar.text.clone() }, node.span),
        _ => reader.wrong_type(node, "version", "a string", None),
    }
}

fn metadata(reader: &mut Reader<'_>, node: &Node) -> Metadata {
    let fields = reader.fields(node, "metadata", keys::METADATA);
    let metadata = describe(reader, &fields, "metadata");
    let version = fields.get("version").and_then(|node| version(reader, node, false));
    Metadata { version: version.unwrap_or_else(|| DEFAULT_VERSION.to_owned()), ..metadata }
}

/// The keys both forms have alike; the version is left to the caller.
pub(super) fn describe(reader: &mut Reader<'_>, fields: &Fields<'_>, section: &'static str) -> Metadata {
    Metadata {
        name: name(reader, fields, section),
        display_name: reader.free_text(fields, section, "display_name"),
        description: reader.free_text(fields, section, "description"),
        version: String::new(),
        author: reader.free_text(fields, section, "author"),
        license: reader.free_text(fields, section, "license"),
        homepage: reader.free_text(fields, section, "homepage"),
        tags: reader.words(fields, section, "tags"),
        category: category(reader, fields, section),
    }
}

fn name(reader: &mut Reader<'_>, fields: &Fields<'_>, section: &'static str) -> String {
    let key = if section.is_empty() { "name" } else { "metadata.name" };
    let Some(node) = fields.get("name") else {
        if fields.is_map {
            reader.fault(Problem::Missing { key }, fields.span);
        }
        return String::new();
    };
    let Some(name) = reader.text(node, key) else { return String::new() };
    if let Err(reason) = abx_reference::name::check_name(&name.value) {
        reader.fault(Problem::Name { text: name.value.clone(), detail: reason.to_string() }, node.span);
    }
    name.value
}

fn category(reader: &mut Reader<'_>, fields: &Fields<'_>, section: &str) -> Option<String> {
    let node = fields.get("category")?;
    let word = reader.text(node, &join(section, "category"))?.value;
    if !CATEGORIES.contains(&word.as_str()) {
        let near = nearest(&word, CATEGORIES.iter().copied());
        reader.fault(Problem::Category { word: word.clone(), near }, node.span);
    }
    Some(word)
}

/// A template's own version; `complete` fills missing numbers (`1.0`) with zeros.
pub(super) fn version(reader: &mut Reader<'_>, node: &Node, complete: bool) -> Option<String> {
    let Value::Scalar(scalar) = &node.value else {
        reader.wrong_type(node, "version", "a string", None);
        return None;
    };
    let text = scalar.text.clone();
    if scalar.meaning() != Meaning::Text {
        reader.fault(Problem::UnquotedVersion { text }, node.span);
        return None;
    }
    let meant = abx_reference::Version::parse(&text).map(|version| version.to_string());
    match abx_reference::Version::parse_strict(&text) {
        Ok(_) => Some(text),
        Err(_) if complete && meant.is_some() => meant,
        Err(detail) => {
            reader.fault(Problem::NotSemver { text, detail, meant }, node.span);
            None
        }
    }
}

fn base(reader: &mut Reader<'_>, node: &Node) -> Option<Base> {
    let fields = reader.fields(node, "base", keys::BASE);
    match (fields.get("image"), fields.get("from")) {
        (Some(image), Some(from)) => {
            let second = if image.span.line > from.span.line { "image" } else { "from" };
            let span = fields.entry(second).map_or(from.span, |entry| entry.key_span);
            reader.fault(Problem::TwoBases, span);
            None
        }
        (Some(image), None) => super::build::image(reader, image).map(Base::Image),
        (None, Some(from)) => super::build::from(reader, from).map(Base::From),
        (None, None) => {
            if matches!(node.value, Value::Map(_)) {
                reader.fault(Problem::Missing { key: "base.image" }, node.span);
            }
            None
        }
    }
}

pub(super) fn resources(
    reader: &mut Reader<'_>,
    top: &Fields<'_>,
    cleared: &mut Vec<Clearable>,
) -> Resources {
    let Some(node) = top.get("resources") else { return Resources::default() };
    let fields = reader.fields(node, "resources", keys::RESOURCES);
    if fields.is_null("gpu") {
        cleared.push(Clearable::Gpu);
    }
    let Bounds { cpu, memory, disk, timeout } = reader.bounds.clone();
    Resources {
        cpu: fields.get("cpu").and_then(|node| reader.float(node, "resources.cpu", cpu)),
        memory: fields.get("memory").and_then(|node| reader.megabytes(node, "resources.memory", memory)),
        disk: fields.get("disk").and_then(|node| reader.megabytes(node, "resources.disk", disk)),
        gpu: fields.get("gpu").and_then(|node| reader.text(node, "resources.gpu")).map(|gpu| gpu.value),
        timeout: fields
            .get("timeout")
            .and_then(|node| reader.integer(node, "resources.timeout", timeout.clone())),
        idle_timeout: fields
            .get("idle_timeout")
            .and_then(|node| reader.integer(node, "resources.idle_timeout", timeout)),
    }
}

fn network(reader: &mut Reader<'_>, node: &Node, cleared: &mut Vec<Clearable>) -> Network {
    let fields = reader.fields(node, "network", keys::NETWORK);
    if fields.is_null("egress") {
        cleared.push(Clearable::Egress);
    }
    Network {
        ports: ports(reader, &fields, "network"),
        public: fields.get("public").and_then(|node| reader.boolean(node, "network.public")),
        egress: fields.get("egress").and_then(|node| super::egress::read(reader, node)),
    }
}

/// Each port once.
pub(super) fn ports(reader: &mut Reader<'_>, fields: &Fields<'_>, section: &str) -> Vec<crate::At<u16>> {
    let key = join(section, "ports");
    let mut ports: Vec<crate::At<u16>> = Vec::new();
    for node in reader.items(fields, section, "ports") {
        let Some(port) = reader.port(node, &key) else { continue };
        if ports.iter().any(|known| known.value == port.value) {
            reader.warn(Problem::PortTwice { port: port.value }, node.span);
        } else {
            ports.push(port);
        }
    }
    ports
}

fn agent(reader: &mut Reader<'_>, node: &Node) -> Agent {
    let fields = reader.fields(node, "agent", keys::AGENT);
    Agent {
        description: reader.free_text(&fields, "agent", "description"),
        triggers: reader.words(&fields, "agent", "triggers"),
        instructions: reader.free_text(&fields, "agent", "instructions"),
    }
}

fn healthcheck(reader: &mut Reader<'_>, node: &Node) -> Option<Healthcheck> {
    let fields = reader.fields(node, "healthcheck", keys::HEALTHCHECK);
    let interval = reader.seconds(&fields, "healthcheck", "interval").unwrap_or(DEFAULT_HEALTH_INTERVAL);
    let timeout = reader.seconds(&fields, "healthcheck", "timeout").unwrap_or(DEFAULT_HEALTH_TIMEOUT);
    let retries = fields.get("retries").and_then(|node| reader.integer(node, "healthcheck.retries", RETRIES));
    let retries = retries.and_then(|count| u32::try_from(count).ok()).unwrap_or(DEFAULT_HEALTH_RETRIES);
    let start_period = fields
        .get("start_period")
        .and_then(|node| reader.float(node, "healthcheck.start_period", START_PERIOD))
        .unwrap_or(DEFAULT_HEALTH_START_PERIOD);
    let Some(command) = fields.get("command") else {
        if matches!(node.value, Value::Map(_)) {
            reader.fault(Problem::Missing { key: "healthcheck.command" }, node.span);
        }
        return None;
    };
    let command = reader.text(command, "healthcheck.command")?;
    Some(Healthcheck { command, interval, timeout, retries, start_period })
}
