//! The JSON Schema of a `template.yaml`, for editors: both shapes, with the reader's own keys, words and bounds.
//!
//! A schema cannot say all that the reader checks (references, image names, whether a file is there), but what it
//! refuses the reader refuses too; a test holds the two together.

mod describe;

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use crate::limits::{
    CAPABILITIES, CATEGORIES, CPU, DISK, MEMORY, PROBE_SECONDS, RETRIES, START_PERIOD, TIMEOUT,
};
use crate::read::keys;

/// The schema, in draft 2020-12.
pub fn schema() -> Value {
    let has = |key: &str| json!({ "required": [key] });
    let mut full: Vec<Value> = keys::FULL_ONLY.iter().map(|key| has(key)).collect();
    full.push(json!({ "required": ["base"], "properties": { "base": { "type": "object" } } }));
    let mut flat: Vec<Value> = keys::FLAT_ONLY.iter().map(|key| has(key)).collect();
    flat.push(json!({ "required": ["base"], "properties": { "base": { "type": "string" } } }));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Agent Sandbox template",
        "type": "object",
        "if": { "anyOf": full },
        "then": { "$ref": "#/$defs/full" },
        "else": {
            "if": { "anyOf": flat },
            "then": { "$ref": "#/$defs/flat" },
            "else": { "$ref": "#/$defs/full" },
        },
        "$defs": { "full": self::full(), "flat": self::flat() },
    })
}

fn full() -> Value {
    let probe = map(
        "sandbox.readiness_probe",
        &["type"],
        &[
            ("type", words(&["tcp", "exec"])),
            ("port", port()),
            ("command", text()),
            ("interval", seconds()),
            ("timeout", seconds()),
        ],
    );
    let mut probe = nullable(probe);
    probe["oneOf"] = json!([
        { "type": "object", "required": ["port"],
          "properties": { "type": { "const": "tcp" }, "port": { "type": "integer" }, "command": { "type": "null" } } },
        { "type": "object", "required": ["command"],
          "properties": { "type": { "const": "exec" }, "command": { "type": "string" }, "port": { "type": "null" } } },
        { "type": "null" },
    ]);
    let sandbox = map(
        "sandbox",
        &[],
        &[
            ("mode", words(&["ephemeral", "persistent"])),
            ("workdir", absolute()),
            ("user", user()),
            ("shell", absolute()),
            ("startup_command", text()),
            ("readiness_probe", probe),
        ],
    );
    let build = map(
        "build",
        &[],
        &[
            ("apt_install", list(text())),
            ("pip_install", list(text())),
            ("npm_install", list(text())),
            ("env", environment()),
            ("run", list(text())),
            ("copy", list(map("build.copy", &["src", "dest"], &[("src", text()), ("dest", text())]))),
        ],
    );
    let agent = [("description", free_text()), ("triggers", list(text())), ("instructions", free_text())];
    let healthcheck = [
        ("command", text()),
        ("interval", seconds()),
        ("timeout", seconds()),
        ("retries", whole(&RETRIES)),
        ("start_period", number(&START_PERIOD)),
    ];
    let egress = map(
        "network.egress",
        &[],
        &[("default", words(&["allow", "deny"])), ("allow", list(text())), ("deny", list(text()))],
    );
    let network =
        [("ports", list(port())), ("public", json!({ "type": "boolean" })), ("egress", nullable(egress))];
    let mut base = map("base", &[], &[("image", text()), ("from", text())]);
    base["oneOf"] = json!([
        { "type": "object", "required": ["image"],
          "properties": { "image": { "type": "string" }, "from": { "type": "null" } } },
        { "type": "object", "required": ["from"],
          "properties": { "from": { "type": "string" }, "image": { "type": "null" } } },
        { "type": "null" },
    ]);
    map(
        "",
        &["version", "metadata"],
        &[
            ("version", json!({ "const": "1" })),
            ("metadata", map("metadata", &["name"], &metadata(version()))),
            ("base", nullable(base)),
            ("build", nullable(build)),
            ("resources", nullable(resources())),
            ("network", nullable(map("network", &[], &network))),
            ("sandbox", nullable(sandbox)),
            ("capabilities", capabilities()),
            ("agent", nullable(map("agent", &[], &agent))),
            ("healthcheck", nullable(map("healthcheck", &["command"], &healthcheck))),
        ],
    )
}

fn flat() -> Value {
    let packages = [("pip", list(text())), ("apt", list(text())), ("npm", list(text()))];
    let file = map("files", &["source", "target"], &[("source", text()), ("target", text())]);
    let mut properties =
        metadata(json!({ "type": "string", "pattern": r"^[vV]?\d+(\.\d+){0,2}([-+].*)?$" })).to_vec();
    properties.extend([
        ("base", text()),
        ("packages", nullable(map("packages", &[], &packages))),
        ("files", list(file)),
        ("env", environment()),
        ("ports", list(port())),
        ("resources", nullable(resources())),
        ("entrypoint", text()),
        ("workdir", absolute()),
        ("user", user()),
        ("capabilities", capabilities()),
    ]);
    let mut flat = map("flat", &["name"], &properties);
    // The older dialect: read, with a warning.
    let copied = json!({ "type": ["object", "string"] });
    let older = [
        ("system_packages", list(text())),
        ("python_packages", list(text())),
        ("node_packages", list(text())),
        ("commands", list(text())),
        ("copy_files", list(copied)),
        ("cpu_count", number(&CPU)),
        ("memory_mb", megabytes(&MEMORY)),
    ];
    for (key, mut value) in older {
        value["deprecated"] = json!(true);
        flat["properties"][key] = value;
    }
    flat
}

fn metadata(version: Value) -> [(&'static str, Value); 9] {
    let name = json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$", "maxLength": 100 });
    [
        ("name", name),
        ("display_name", free_text()),
        ("description", free_text()),
        ("version", version),
        ("author", free_text()),
        ("license", free_text()),
        ("homepage", free_text()),
        ("tags", list(text())),
        ("category", words(CATEGORIES)),
    ]
}

fn resources() -> Value {
    let fields = [
        ("cpu", number(&CPU)),
        ("memory", megabytes(&MEMORY)),
        ("disk", megabytes(&DISK)),
        ("gpu", text()),
        ("timeout", whole(&TIMEOUT)),
        ("idle_timeout", whole(&TIMEOUT)),
    ];
    map("resources", &[], &fields)
}

/// A map with these keys and no others. A key that is `null` counts as absent, unless it is required.
fn map(section: &str, required: &[&str], fields: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    for (key, value) in fields {
        let mut value = match required.contains(key) {
            true => value.clone(),
            false => nullable(value.clone()),
        };
        if let Some((text, default)) = describe::describe(section, key) {
            value["description"] = json!(text);
            if let Some(default) = default {
                value["default"] = default;
            }
        }
        properties.insert((*key).to_owned(), value);
    }
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

fn nullable(mut schema: Value) -> Value {
    if let Some(Value::Array(words)) = schema.get_mut("enum")
        && !words.contains(&Value::Null)
    {
        words.push(Value::Null);
    }
    match schema.get("type").cloned() {
        Some(Value::String(kind)) => schema["type"] = json!([kind, "null"]),
        Some(Value::Array(mut kinds)) if !kinds.contains(&json!("null")) => {
            kinds.push(json!("null"));
            schema["type"] = Value::Array(kinds);
        }
        _ => {}
    }
    schema
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// A string that says something.
fn text() -> Value {
    json!({ "type": "string", "pattern": r"\S" })
}

fn free_text() -> Value {
    json!({ "type": "string" })
}

fn words(words: &[&str]) -> Value {
    json!({ "enum": words })
}

fn absolute() -> Value {
    json!({ "type": "string", "pattern": "^/" })
}

fn user() -> Value {
    json!({ "type": "string", "pattern": "^[a-z_][a-z0-9_-]*$", "maxLength": 32 })
}

fn version() -> Value {
    json!({ "type": "string", "pattern": r"^\d+\.\d+\.\d+([-+].*)?$" })
}

/// Whatever is written for a value is text for a program.
fn environment() -> Value {
    json!({
        "type": "object",
        "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_.-]*$" },
        "additionalProperties": { "type": ["string", "number", "boolean"] },
    })
}

fn capabilities() -> Value {
    json!({
        "type": "array",
        "items": { "anyOf": [
            { "enum": CAPABILITIES },
            { "type": "string", "pattern": "^x-[A-Za-z0-9._-]+$" },
        ]},
    })
}

fn port() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": 65_535 })
}

fn whole(bounds: &RangeInclusive<u64>) -> Value {
    json!({ "type": "integer", "minimum": bounds.start(), "maximum": bounds.end() })
}

fn number(bounds: &RangeInclusive<f64>) -> Value {
    json!({ "type": "number", "minimum": bounds.start(), "maximum": bounds.end() })
}

fn seconds() -> Value {
    number(&PROBE_SECONDS)
}

/// A number within the bounds, or text with a unit.
fn megabytes(bounds: &RangeInclusive<u64>) -> Value {
    let mut schema = whole(bounds);
    schema["type"] = json!(["integer", "string"]);
    schema["pattern"] = json!(r"^[0-9.]+\s*[MGTmgt]([iI]?[bB]?)$");
    schema
}

#[cfg(test)]
mod agreement;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_the_schema_and_described() {
        let schema = schema();
        let at = |path: &str| schema.pointer(path).and_then(Value::as_object).expect("a map of keys");
        for (path, keys) in [
            ("/$defs/full/properties", keys::TOP),
            ("/$defs/full/properties/metadata/properties", keys::METADATA),
            ("/$defs/full/properties/base/properties", keys::BASE),
            ("/$defs/full/properties/build/properties", keys::BUILD),
            ("/$defs/full/properties/build/properties/copy/items/properties", keys::COPY),
            ("/$defs/full/properties/resources/properties", keys::RESOURCES),
            ("/$defs/full/properties/network/properties", keys::NETWORK),
            ("/$defs/full/properties/network/properties/egress/properties", keys::EGRESS),
            ("/$defs/full/properties/sandbox/properties", keys::SANDBOX),
            ("/$defs/full/properties/sandbox/properties/readiness_probe/properties", keys::PROBE),
            ("/$defs/full/properties/agent/properties", keys::AGENT),
            ("/$defs/full/properties/healthcheck/properties", keys::HEALTHCHECK),
            ("/$defs/flat/properties", keys::SHORTHAND),
            ("/$defs/flat/properties/packages/properties", keys::PACKAGES),
            ("/$defs/flat/properties/files/items/properties", keys::FILE),
        ] {
            let properties = at(path);
            for key in keys {
                let text = properties.get(*key).and_then(|value| value["description"].as_str());
                assert!(text.is_some_and(|text| !text.is_empty()), "{path}/{key}");
            }
            let extra = properties.keys().filter(|key| !keys.contains(&key.as_str()));
            assert!(extra.clone().all(|key| properties[key]["deprecated"] == json!(true)), "{path}");
        }
        assert_eq!(
            at("/$defs/full/properties/resources/properties/cpu")["default"],
            json!(crate::limits::DEFAULT_CPU as u64)
        );
    }
}
