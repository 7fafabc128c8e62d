//! The form that code review tools read: SARIF 2.1.0.

use abx_core::Fault;
use serde_json::{Value, json};

use super::message;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// How much a result weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SarifLevel {
    Error,
    Warning,
    Note,
}

/// A log of one run.
#[derive(Debug, Default)]
pub(crate) struct Sarif {
    rules: Vec<Value>,
    results: Vec<Value>,
}

impl Sarif {
    /// Adds a fault and all that were found with it.
    pub(crate) fn add(&mut self, fault: &dyn Fault, level: SarifLevel) {
        let code = fault.code();
        if !self.rules.iter().any(|rule| rule["id"] == code.as_str()) {
            self.rules.push(json!({ "id": code.as_str(), "shortDescription": { "text": code.meaning() } }));
        }
        let level_name = match level {
            SarifLevel::Error => "error",
            SarifLevel::Warning => "warning",
            SarifLevel::Note => "note",
        };
        let mut text = message(fault);
        for hint in fault.hints() {
            text.push('\n');
            text.push_str(&hint);
        }
        let locations: Vec<Value> = fault.snippets().iter().map(location).collect();
        self.results.push(json!({
            "ruleId": code.as_str(), "level": level_name, "message": { "text": text }, "locations": locations,
        }));
        for other in fault.others() {
            self.add(other, level);
        }
    }

    /// The whole log.
    pub(crate) fn value(self) -> Value {
        json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "abx", "version": env!("CARGO_PKG_VERSION"), "rules": self.rules,
                } },
                "columnKind": "unicodeCodePoints",
                "results": self.results,
            }],
        })
    }
}

fn location(at: &abx_core::Snippet) -> Value {
    let file = at.file.strip_prefix("./").unwrap_or(&at.file);
    // A file of a template that is elsewhere has a name, and no place a tool could open.
    let uri: String = file.split(' ').collect::<Vec<_>>().join("%20");
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri },
        "region": {
            "startLine": at.line, "startColumn": at.column, "endColumn": at.column + at.length,
            "snippet": { "text": at.source },
        },
    } })
}
