//! Tree → [`Index`].

use abx_reference::{Github, Reference, name};

use super::reader::Reader;
use crate::index::{Index, IndexProblem, Listing, SCHEMA, Status};
use crate::near::nearest;
use crate::problem::Problem;
use crate::yaml::{Entry, Meaning, Node, Span, Value};

const KEYS: &[&str] = &[
    "name",
    "repo",
    "path",
    "ref",
    "description",
    "tags",
    "triggers",
    "category",
    "author",
    "capabilities",
    "status",
];

/// Reads a whole index; `found` is what was wrong with the text itself.
pub(crate) fn read(reader: &mut Reader<'_>, root: Option<&Node>, found: Vec<(Problem, Span)>) -> Index {
    let map = root.and_then(|root| match &root.value {
        Value::Map(entries) => Some(entries.as_slice()),
        _ => None,
    });
    let schema = map.and_then(|entries| value(entries, "schema_version"));
    if let Some((newer, node)) = schema.and_then(|node| Some((integer(node)?, node)))
        && newer > SCHEMA as i64
    {
        // Whatever else there is to say about the file, a newer reader says otherwise.
        reader.fault(IndexProblem::NewerSchema { found: newer }.into(), node.span);
        return Index::default();
    }
    for (problem, span) in found.into_iter().filter(|(problem, _)| *problem != Problem::Empty) {
        reader.fault(problem, span);
    }
    let Some(entries) = map else {
        not_index(reader, root);
        return Index::default();
    };
    if let Some(node) = schema {
        check_schema(reader, node);
    }
    let Some(templates) = value(entries, "templates") else {
        missing(reader, entries, "templates", &["schema_version", "templates"], Span::of(root));
        return Index::default();
    };
    let Value::List(items) = &templates.value else {
        reader.wrong_type(templates, "templates", "a list", None);
        return Index::default();
    };
    Index { listings: listings(reader, items) }
}

fn not_index(reader: &mut Reader<'_>, root: Option<&Node>) {
    match root {
        Some(node) if !node.is_null() => {
            reader.fault(IndexProblem::NotIndex { found: node.kind() }.into(), node.span);
        }
        // A text without a tree has said why, unless it is empty.
        None if reader.has_faults() => {}
        _ => reader.fault(IndexProblem::NotIndex { found: "an empty file" }.into(), Span::of(root)),
    }
}

fn check_schema(reader: &mut Reader<'_>, node: &Node) {
    match integer(node) {
        Some(found) if found == SCHEMA as i64 => {}
        Some(found) => reader.fault(IndexProblem::UnknownSchema { found }.into(), node.span),
        None => reader.wrong_type(node, "schema_version", "a whole number", None),
    }
}

fn listings(reader: &mut Reader<'_>, items: &[Node]) -> Vec<Listing> {
    let mut listings: Vec<Listing> = Vec::new();
    let mut seen: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    for item in items {
        let Value::Map(entries) = &item.value else {
            reader.wrong_type(item, "templates", "a list of maps with `name` and `repo`", None);
            continue;
        };
        let Some(listing) = listing(reader, entries, item.span) else { continue };
        let name = listing.name.clone();
        match seen.get(&name.to_ascii_lowercase()) {
            Some(&first_line) => {
                let span = value(entries, "name").map_or(item.span, |node| node.span);
                reader.fault(IndexProblem::NameTwice { name, first_line }.into(), span);
            }
            None => {
                seen.insert(name.to_ascii_lowercase(), item.span.line);
                listings.push(listing);
            }
        }
    }
    listings
}

/// `None` where there is a fault in what nothing goes without.
fn listing(reader: &mut Reader<'_>, entries: &[Entry], span: Span) -> Option<Listing> {
    let name = required(reader, entries, "name", span).and_then(|node| template_name(reader, node));
    let github = required(reader, entries, "repo", span).and_then(|node| repository(reader, node));
    let text = |reader: &mut Reader<'_>, key: &'static str| {
        value(entries, key).and_then(|node| optional_text(reader, node, key))
    };
    let place = |reader: &mut Reader<'_>, key| value(entries, key).and_then(|node| reader.text(node, key));
    let (path, git_ref) = (place(reader, "path"), place(reader, "ref"));
    let github = github.and_then(|github| {
        let path = path.as_ref().map(|path| path.value.trim_start_matches("./")).filter(|path| *path != ".");
        match github.elsewhere(path, git_ref.as_ref().map(|git_ref| git_ref.value.as_str())) {
            Ok(github) => Some(github),
            Err(error) => {
                let key = if github.elsewhere(path, None).is_err() { "path" } else { "ref" };
                reader.fault(error.into(), value(entries, key).map_or(span, |node| node.span));
                None
            }
        }
    });
    let listing = (
        text(reader, "description"),
        words(reader, entries, "tags"),
        words(reader, entries, "triggers"),
        text(reader, "category"),
        text(reader, "author"),
        words(reader, entries, "capabilities"),
        value(entries, "status").and_then(|node| reader.one_of(node, "status", Status::WORDS)),
    );
    let (description, tags, triggers, category, author, capabilities, status) = listing;
    let status = status.map(Status::of).unwrap_or_default();
    let place = reader.at((), span).place;
    let (name, github) = name.zip(github)?;
    Some(Listing { name, github, description, tags, triggers, category, author, capabilities, status, place })
}

fn template_name(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node, "name")?.value;
    match name::check_name(&text) {
        Ok(()) => Some(text),
        Err(reason) => {
            reader.fault(Problem::Name { text, detail: reason.to_string() }, node.span);
            None
        }
    }
}

/// A repository of GitHub without a directory and a ref, which have keys of their own.
fn repository(reader: &mut Reader<'_>, node: &Node) -> Option<Github> {
    let text = reader.text(node, "repo")?.value;
    let problem = match Reference::parse(&text) {
        Ok(Reference::Github(github)) => {
            if github.subdirectory().is_none() && github.git_ref().is_none() {
                return Some(github);
            }
            IndexProblem::MoreThanRepository { text }.into()
        }
        Ok(_) => IndexProblem::NoRepository { text }.into(),
        Err(error) => Problem::from(error),
    };
    reader.fault(problem, node.span);
    None
}

/// A string that may be empty.
fn optional_text(reader: &mut Reader<'_>, node: &Node, key: &str) -> Option<String> {
    match &node.value {
        Value::Scalar(scalar) if scalar.text.trim().is_empty() => None,
        _ => reader.text(node, key).map(|text| text.value),
    }
}

fn words(reader: &mut Reader<'_>, entries: &[Entry], key: &str) -> Vec<String> {
    let Some(node) = value(entries, key) else { return Vec::new() };
    let Value::List(items) = &node.value else {
        reader.wrong_type(node, key, "a list", None);
        return Vec::new();
    };
    items.iter().filter_map(|item| reader.text(item, key)).map(|word| word.value).collect()
}

fn required<'n>(
    reader: &mut Reader<'_>,
    entries: &'n [Entry],
    key: &'static str,
    span: Span,
) -> Option<&'n Node> {
    let node = value(entries, key);
    if node.is_none() {
        missing(reader, entries, key, KEYS, span);
    }
    node
}

/// Says that a key is not there, at the key that may have been meant for it.
fn missing(reader: &mut Reader<'_>, entries: &[Entry], key: &'static str, known: &[&str], span: Span) {
    let strangers = entries.iter().filter(|entry| !known.contains(&entry.key.as_str()));
    let misspelt = nearest(key, strangers.map(|entry| entry.key.as_str()));
    match misspelt.and_then(|word| entries.iter().find(|entry| entry.key == word)) {
        Some(entry) => {
            let (key, near) = (entry.key.clone(), Some(key));
            let problem = Problem::UnknownKey { key, section: "", near, home: None, instead: None };
            reader.fault(problem, entry.key_span);
        }
        None => reader.fault(Problem::Missing { key }, span),
    }
}

/// The value of a key; a `null` counts as absent.
fn value<'n>(entries: &'n [Entry], key: &str) -> Option<&'n Node> {
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node).filter(|node| !node.is_null())
}

fn integer(node: &Node) -> Option<i64> {
    match &node.value {
        Value::Scalar(scalar) => match scalar.meaning() {
            Meaning::Integer(value) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

impl Span {
    /// Where a node stands; without one, where a file begins.
    fn of(node: Option<&Node>) -> Self {
        node.map_or(Self { line: 1, column: 1, length: 1 }, |node| node.span)
    }
}
