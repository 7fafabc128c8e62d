//! Tree → [`Suite`].

mod demands;
mod verbs;

use super::reader::{Fields, Reader};
use crate::limits::{CPU, DISK, MEMORY};
use crate::problem::Problem;
use crate::suite::problem::VERBS;
use crate::suite::{Check, Suite, SuiteProblem, Test, Wishes};
use crate::yaml::{Node, Span, Value};

const TOP: &[&str] = &["sandbox", "tests"];
const WISHES: &[&str] = &["network", "fresh", "env", "cpu", "memory", "disk"];
/// The keys of every test.
const COMMON: &[&str] = &["name", "fresh"];

/// Reads a whole file of tests; `found` is what was wrong with the text itself.
pub(crate) fn read(reader: &mut Reader<'_>, root: Option<&Node>, found: Vec<(Problem, Span)>) -> Suite {
    for (problem, span) in found.into_iter().filter(|(problem, _)| *problem != Problem::Empty) {
        reader.fault(problem, span);
    }
    let Some(root) = root.filter(|root| matches!(root.value, Value::Map(_))) else {
        if !reader.has_faults() {
            let start = Span { line: 1, column: 1, length: 1 };
            let (found, span) = match root.filter(|root| !root.is_null()) {
                Some(root) => (root.kind(), root.span),
                None => ("an empty file", start),
            };
            reader.fault(SuiteProblem::NotSuite { found }.into(), span);
        }
        return Suite::default();
    };
    let fields = reader.own_fields(root, "", TOP);
    // One that is misspelt has been told.
    if fields.entry("tests").is_none() && !reader.has_faults() {
        reader.fault(Problem::Missing { key: "tests" }, fields.span);
    }
    let sandbox = fields.get("sandbox").map(|node| wishes(reader, node)).unwrap_or_default();
    let tests = tests(reader, &fields);
    Suite { sandbox, tests }
}

fn wishes(reader: &mut Reader<'_>, node: &Node) -> Wishes {
    let fields = reader.own_fields(node, "sandbox", WISHES);
    let network = fields.get("network").and_then(|node| network(reader, node));
    let is_fresh = fields.get("fresh").and_then(|node| reader.boolean(node, "sandbox.fresh"));
    let env = super::build::env(reader, &fields);
    Wishes {
        network,
        is_fresh: is_fresh.unwrap_or_default(),
        env: env.into_iter().map(|(name, value)| (name, value.value)).collect(),
        cpu: fields.get("cpu").and_then(|node| reader.float(node, "sandbox.cpu", CPU)),
        memory: fields.get("memory").and_then(|node| reader.megabytes(node, "sandbox.memory", MEMORY)),
        disk: fields.get("disk").and_then(|node| reader.megabytes(node, "sandbox.disk", DISK)),
    }
}

/// Whether it reaches anything: the words of `abx create --network`.
fn network(reader: &mut Reader<'_>, node: &Node) -> Option<bool> {
    Some(reader.one_of(node, "sandbox.network", &["none", "default"])? == "default")
}

fn tests(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for node in reader.items(fields, "", "tests") {
        let Value::Map(_) = &node.value else {
            reader.wrong_type(node, "tests", "a list of maps with `name` and what to look at", None);
            continue;
        };
        let Some(test) = test(reader, node) else { continue };
        match tests.iter().find(|known| known.name == test.name) {
            Some(first) => {
                let (name, first_line) = (test.name, first.place.line);
                reader.fault(SuiteProblem::NameTwice { name, first_line }.into(), node.span);
            }
            None => tests.push(test),
        }
    }
    tests
}

/// `None` behind a fault.
fn test(reader: &mut Reader<'_>, node: &Node) -> Option<Test> {
    let verb = verb(reader, node)?;
    let keys: Vec<&'static str> = [COMMON, verbs::keys(verb), &[verb]].concat();
    reader.foreign_keys(node, verb, &keys);
    let fields = reader.own_fields(node, "tests", ALL);
    let name = match fields.get("name") {
        Some(node) => reader.text(node, "name").map(|name| name.value),
        None => {
            reader.fault(Problem::Missing { key: "name" }, node.span);
            None
        }
    };
    let fresh = fields.get("fresh").and_then(|node| reader.boolean(node, "fresh"));
    let check: Option<Check> = verbs::read(reader, &fields, verb);
    let place = reader.at((), node.span).place;
    Some(Test { name: name?, place, is_fresh: fresh.unwrap_or_default(), check: check? })
}

/// The one verb of a test.
fn verb(reader: &mut Reader<'_>, node: &Node) -> Option<&'static str> {
    let Value::Map(entries) = &node.value else { return None };
    let mut verbs = entries.iter().filter_map(|entry| {
        let verb = VERBS.iter().find(|verb| **verb == entry.key)?;
        Some((*verb, entry.key_span))
    });
    match (verbs.next(), verbs.next()) {
        (Some((verb, _)), None) => Some(verb),
        (Some((first, _)), Some((second, span))) => {
            reader.fault(SuiteProblem::TwoVerbs { first, second }.into(), span);
            None
        }
        (None, _) => {
            // A verb that is misspelt is better said so.
            if !reader.strangers(entries, "tests", ALL) {
                reader.fault(SuiteProblem::NoVerb.into(), node.span);
            }
            None
        }
    }
}

/// Every key that some test may have.
const ALL: &[&str] = &[
    "name",
    "fresh",
    "run",
    "code",
    "call",
    "commands",
    "programs",
    "packages",
    "file",
    "port",
    "capabilities",
    "health",
    "resources",
    "image",
    "user",
    "cwd",
    "env",
    "stdin",
    "login",
    "timeout",
    "status",
    "stdout",
    "stderr",
    "language",
    "result",
    "formats",
    "error",
    "args",
    "exists",
    "type",
    "mode",
    "owner",
    "group",
    "content",
    "within",
    "http",
];

impl Reader<'_> {
    /// Says which keys another verb has a use for, and this one has not.
    fn foreign_keys(&mut self, node: &Node, verb: &'static str, keys: &[&'static str]) {
        let Value::Map(entries) = &node.value else { return };
        for entry in entries.iter().filter(|entry| ALL.contains(&entry.key.as_str())) {
            if !keys.contains(&entry.key.as_str()) {
                self.fault(SuiteProblem::NoUse { verb, key: entry.key.clone() }.into(), entry.key_span);
            }
        }
    }
}
