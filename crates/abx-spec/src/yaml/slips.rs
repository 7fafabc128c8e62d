//! What people mostly did where the parser gives up.

use granit_parser::ErrorKind;

/// Looked at in the line where that was, and the lines before it; `column` from 1.
pub(super) fn hint(kind: &ErrorKind, lines: &[&str], line: usize, column: usize) -> Option<&'static str> {
    let at = |line: usize| lines.get(line.wrapping_sub(1)).copied().unwrap_or_default();
    Some(match kind {
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation => {
            "indent with spaces"
        }
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::InvalidIndentation
        | ErrorKind::BlockSequenceEntryNotAllowed => "keys of one section stand in one column",
        ErrorKind::MappingValueNotAllowed if glued(before(lines, line)) || glued(at(line)) => {
            "put a space behind the colon of every key"
        }
        ErrorKind::MappingValueNotAllowed if is_deeper(before(lines, line), at(line), column) => {
            "it is indented further than the key before it: keys of one section stand in one column"
        }
        ErrorKind::MappingValueNotAllowed
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator => {
            "quote a text that holds `: ` or a comma, and close brackets that are open"
        }
        ErrorKind::UnknownAnchor | ErrorKind::MissingAnchorOrAliasName => {
            "quote a text that begins with `*` or `&`"
        }
        ErrorKind::UnexpectedCharacter { .. } => match at(line).chars().nth(column.saturating_sub(1)) {
            Some(letter) if letter.is_control() => {
                "take the control character out, or write it as an escape in quotes"
            }
            Some('%') => "quote a text that begins with `%`",
            _ => "quote a text that begins with `@` or a backtick",
        },
        ErrorKind::UnclosedQuotedScalar => "the quote that opens here is never closed",
        ErrorKind::UnclosedFlowCollection { .. } => "the bracket that opens here is never closed",
        ErrorKind::UnknownQuotedScalarEscape => "in single quotes a backslash is only a backslash",
        _ if at(line).chars().nth(column.saturating_sub(1)).is_some_and(|letter| ">|".contains(letter)) => {
            "quote a text that begins with `>` or `|`"
        }
        _ => return None,
    })
}

/// The last line before `line` that says something.
fn before<'l>(lines: &[&'l str], line: usize) -> &'l str {
    let mut lines = lines.iter().take(line.saturating_sub(1)).rev();
    lines
        .find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        .copied()
        .unwrap_or_default()
}

/// `key:value`, which is one word to YAML.
fn glued(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches("- ");
    let Some((key, value)) = line.split_once(':') else { return false };
    let is_key =
        !key.is_empty() && key.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_');
    is_key
        && value.starts_with(|letter: char| letter.is_alphanumeric() || "\"'[{".contains(letter))
        && !value.contains(": ")
}

/// Whether a line is a key of its own behind a key that has a value already.
fn is_deeper(before: &str, line: &str, column: usize) -> bool {
    let indent = |line: &str| line.chars().take_while(|letter| *letter == ' ').count();
    let is_first = line.char_indices().nth(column.saturating_sub(1)).is_some_and(|(at, _)| {
        let key = line[..at].trim();
        !key.is_empty() && !key.contains([':', ' '])
    });
    let has_value = before.split_once(": ").is_some_and(|(_, value)| !value.trim().is_empty());
    is_first && has_value && indent(line) > indent(before)
}
