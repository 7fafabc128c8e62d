//! What users are told of a key, from the one page that tells it.

use serde_json::Value;

const DOCUMENT: &str = include_str!("../../../../docs/template-reference.md");
const SHORTHAND: &str = "\n## The flat shorthand\n";

/// The description of `section.key` and its default, where it has a plain one. The sections of the flat shorthand are
/// `flat`, `packages` and `files`.
pub(super) fn describe(section: &str, key: &str) -> Option<(String, Option<Value>)> {
    let (full, flat) = DOCUMENT.split_once(SHORTHAND)?;
    let path = crate::read::join(if section == "flat" { "" } else { section }, key);
    match section {
        "flat" | "packages" | "files" => row(flat, &path).map(|cells| (plain(cells[1]), None)),
        _ => row(full, &path).map(|cells| (plain(cells[1]), default(cells[2]))),
    }
}

/// The cells of the table's row on a key.
fn row<'t>(text: &'t str, path: &str) -> Option<Vec<&'t str>> {
    let start = format!("| `{path}` |");
    let line = text.lines().find(|line| line.starts_with(&start))?;
    Some(line.trim_matches('|').split(" | ").map(str::trim).collect())
}

/// Without the marks of Markdown.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// A default that stands alone in code marks.
fn default(cell: &str) -> Option<Value> {
    let text = cell.strip_prefix('`')?.strip_suffix('`').filter(|text| !text.contains('`'))?;
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(words) => Some(words.split(", ").map(Value::from).collect()),
        None => Some(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))),
    }
}
