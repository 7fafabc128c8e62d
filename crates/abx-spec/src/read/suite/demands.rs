//! What a text, a version or a value must be.

use serde_json::{Map, Number, Value as Json};

use super::super::reader::{Fields, Reader};
use crate::problem::Problem;
use crate::spec::At;
use crate::suite::expect::compile;
use crate::suite::{Expect, Range, SuiteProblem};
use crate::yaml::{Meaning, Node, Scalar, Span, Value};

const DEMANDS: &[&str] = &["equals", "contains", "excludes", "matches"];

/// The demands on a text: the whole text, or a map of them.
pub(super) fn demands(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &'static str) -> Vec<At<Expect>> {
    let Some(node) = fields.get(key) else { return Vec::new() };
    if let Value::Scalar(_) = &node.value {
        let text = any_text(reader, node, key);
        return text.map(|text| reader.at(Expect::Equals(text), node.span)).into_iter().collect();
    }
    let map = reader.own_fields(node, key, DEMANDS);
    let mut demands = Vec::new();
    for demand in DEMANDS {
        let Some(value) = map.get(demand) else { continue };
        let items = match &value.value {
            Value::List(items) if *demand != "equals" => items.as_slice(),
            _ => std::slice::from_ref(value),
        };
        for item in items {
            let Some(text) = any_text(reader, item, &format!("{key}.{demand}")) else { continue };
            if let Some(expect) = expect(reader, demand, text, item.span) {
                demands.push(reader.at(expect, item.span));
            }
        }
    }
    if demands.is_empty() && !reader.has_faults() {
        reader.fault(SuiteProblem::NoDemand { key: key.to_owned() }.into(), node.span);
    }
    demands
}

fn expect(reader: &mut Reader<'_>, demand: &str, text: String, span: Span) -> Option<Expect> {
    Some(match demand {
        "equals" => Expect::Equals(text),
        "contains" => Expect::Contains(text),
        "excludes" => Expect::Excludes(text),
        _ => {
            if let Err(error) = compile(&text) {
                let detail = error.to_string();
                reader.fault(SuiteProblem::Pattern { text, detail }.into(), span);
                return None;
            }
            Expect::Matches(text)
        }
    })
}

/// A string, an empty or blank one too; what YAML reads as something else without quotes is a fault.
pub(super) fn any_text(reader: &mut Reader<'_>, node: &Node, key: &str) -> Option<String> {
    match &node.value {
        Value::Scalar(Scalar { text, plain: false }) => Some(text.clone()),
        _ => reader.text(node, key).map(|text| text.value),
    }
}

/// Strings, one or a list of them.
pub(super) fn texts(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &'static str) -> Vec<At<String>> {
    reader.items(fields, "", key).iter().filter_map(|item| reader.text(item, key)).collect()
}

/// Names with ranges of versions: a map, or a list of names alone. Versions need no quotes.
pub(super) fn versions(reader: &mut Reader<'_>, node: &Node, key: &str) -> Vec<At<(String, Option<Range>)>> {
    match &node.value {
        Value::List(items) => {
            let names = items.iter().filter_map(|item| reader.text(item, key));
            names.map(|name| At { value: (name.value, None), place: name.place }).collect()
        }
        Value::Map(entries) => {
            let mut found = Vec::new();
            for entry in entries {
                if let Some(range) = range(reader, &entry.node, &format!("{key}.{}", entry.key)) {
                    found.push(reader.at((entry.key.clone(), Some(range)), entry.key_span));
                }
            }
            found
        }
        _ => {
            let wanted = "a list of names, or a map of names to versions";
            reader.wrong_type(node, key, wanted, None);
            Vec::new()
        }
    }
}

fn range(reader: &mut Reader<'_>, node: &Node, key: &str) -> Option<Range> {
    let Value::Scalar(scalar) = &node.value else {
        reader.wrong_type(node, key, "a range of versions", None);
        return None;
    };
    if matches!(scalar.meaning(), Meaning::Float(_)) {
        // 3.10 is 3.1 to whatever rewrites the file.
        let text = scalar.text.clone();
        reader.fault(Problem::Unquoted { key: key.to_owned(), text, found: node.kind() }, node.span);
        return None;
    }
    let range = Range::parse(&scalar.text);
    if range.is_none() {
        reader.fault(SuiteProblem::Range { text: scalar.text.clone() }.into(), node.span);
    }
    range
}

/// Any value, as JSON has it.
pub(super) fn json(node: &Node) -> Json {
    match &node.value {
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
        Value::Map(_) => Json::Object(object(node)),
        Value::Scalar(scalar) => match scalar.meaning() {
            Meaning::Null => Json::Null,
            Meaning::Bool(value) => Json::Bool(value),
            Meaning::Integer(value) => Json::from(value),
            Meaning::Float(value) => Number::from_f64(value).map_or(Json::Null, Json::Number),
            Meaning::Text => Json::String(scalar.text.clone()),
        },
    }
}

/// A map, as JSON has it; empty for all else.
pub(super) fn object(node: &Node) -> Map<String, Json> {
    match &node.value {
        Value::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), json(&entry.node))).collect(),
        _ => Map::new(),
    }
}
