//! Schema and reader agree: on the files of the documents, and on every value of them replaced by others.

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::Problem;
use crate::parse::examine;
use crate::read::keys;
use crate::yaml::{self, Meaning, Node};

const SEEDS: &[&str] = &[
    include_str!("../../tests/files/full.yaml"),
    include_str!("../../tests/files/shorthand.yaml"),
    include_str!("../../tests/files/egress.yaml"),
    include_str!("../../tests/files/rest.yaml"),
    include_str!("../../tests/files/flat.yaml"),
];

/// The tree as a schema's validator takes it.
fn to_json(node: &Node) -> Value {
    match &node.value {
        yaml::Value::List(items) => items.iter().map(to_json).collect(),
        yaml::Value::Map(entries) => {
            Value::Object(entries.iter().map(|entry| (entry.key.clone(), to_json(&entry.node))).collect())
        }
        yaml::Value::Scalar(scalar) => match scalar.meaning() {
            Meaning::Null => Value::Null,
            Meaning::Bool(value) => json!(value),
            Meaning::Integer(value) => json!(value),
            Meaning::Float(value) => json!(value),
            Meaning::Text => json!(scalar.text),
        },
    }
}

/// What a schema cannot know.
fn is_beyond_a_schema(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::Reference(_)
            | Problem::Image { .. }
            | Problem::Package { .. }
            | Problem::Nul { .. }
            | Problem::PathLeaves { .. }
            | Problem::PathTilde { .. }
            | Problem::PathGoesUp { .. }
            | Problem::Target { .. }
    )
}

/// What the one says and the other does not; `None` where they agree.
fn disagreement(validator: &Validator, text: &str) -> Option<String> {
    let (Some(root), _) = yaml::load(text) else { return None };
    let root = to_json(&root);
    let errors = validator.iter_errors(&root).map(|error| format!("{}: {error}", error.instance_path()));
    let errors: Vec<String> = errors.collect();
    let faults = examine(text, "t.yaml", &crate::Bounds::default()).faults;
    let must_be_seen = faults.iter().any(|fault| !is_beyond_a_schema(&fault.problem));
    match (errors.is_empty(), faults.is_empty()) {
        (false, true) => Some(format!("only the schema refuses it: {errors:?}\n{text}")),
        (true, false) if must_be_seen => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            Some(format!("only the reader refuses it: {faults:?}\n{text}"))
        }
        _ => None,
    }
}

/// Every tree that has one value of `value` replaced, removed or joined by a key nobody knows.
fn variants(value: &Value) -> Vec<Value> {
    let others = [
        json!(null),
        json!(true),
        json!(5),
        json!(-1),
        json!(0.5),
        json!(1e12),
        json!(""),
        json!("x y"),
        json!("1"),
        json!("tcp"),
        json!([]),
        json!(["x"]),
        json!([5, 5]),
        json!([null]),
        json!({}),
        json!({ "x": 1 }),
    ];
    let mut all = others.to_vec();
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                for variant in variants(inner) {
                    let mut map = map.clone();
                    map[key] = variant;
                    all.push(Value::Object(map));
                }
                let mut without = map.clone();
                without.remove(key);
                all.push(Value::Object(without));
            }
            let mut more = map.clone();
            more.insert("nobody".to_owned(), json!(1));
            all.push(Value::Object(more));
        }
        Value::Array(items) => {
            if let Some(first) = items.first() {
                all.extend(variants(first).into_iter().map(|variant| json!([variant])));
            }
        }
        _ => {}
    }
    all
}

#[test]
fn schema_and_reader_agree() {
    let validator = jsonschema::validator_for(&super::schema()).expect("a sound schema");
    let mut found = Vec::new();
    for seed in SEEDS {
        found.extend(disagreement(&validator, seed));
        let (root, _) = yaml::load(seed);
        let variants = variants(&to_json(&root.expect("a tree")));
        assert!(variants.len() > 100, "{}", variants.len());
        // JSON is YAML.
        found.extend(variants.iter().filter_map(|variant| disagreement(&validator, &variant.to_string())));
    }
    assert!(found.is_empty(), "{} disagreements: {}", found.len(), found.join("\n\n"));
}

/// Every key of a tree, wherever it stands.
fn keys_of(value: &Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                found.insert(key.clone());
                keys_of(inner, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys_of(item, found)),
        _ => {}
    }
}

#[test]
fn every_key_is_in_one_of_the_documents() {
    let mut found = std::collections::BTreeSet::new();
    for seed in SEEDS {
        let (root, _) = yaml::load(seed);
        keys_of(&to_json(&root.expect("a tree")), &mut found);
    }
    let full = [
        keys::TOP,
        keys::METADATA,
        keys::BUILD,
        keys::COPY,
        keys::RESOURCES,
        keys::NETWORK,
        keys::EGRESS,
        keys::SANDBOX,
        keys::PROBE,
        keys::AGENT,
        keys::HEALTHCHECK,
    ];
    let flat = [keys::SHORTHAND, keys::PACKAGES, keys::FILE];
    let missing: Vec<_> =
        full.into_iter().chain(flat).flatten().filter(|key| !found.contains(**key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
