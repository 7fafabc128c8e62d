//! The paragraph format of control files, package indexes and release files.

/// The paragraphs of `text`: runs of lines between empty ones.
pub(crate) fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").map(|paragraph| paragraph.trim_matches('\n')).filter(|paragraph| !paragraph.is_empty())
}

/// The fields of one paragraph in order: name and value. A value that goes on over several lines keeps its
/// line breaks and their indentation. Comment lines and lines that are no field are passed over.
pub(crate) fn fields(paragraph: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = paragraph;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let end = field_end(rest);
            let field = &rest[..end];
            rest = rest[end..].trim_start_matches('\n');
            if field.starts_with(['#', ' ', '\t']) {
                continue;
            }
            if let Some((name, value)) = field.split_once(':') {
                return Some((name, value.trim()));
            }
        }
    })
}

/// One field's value; names compare without regard to case.
pub(crate) fn field<'a>(paragraph: &'a str, name: &str) -> Option<&'a str> {
    fields(paragraph).find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Where the first field of `text` ends: at the first line break that no continuation line follows.
fn field_end(text: &str) -> usize {
    let mut from = 0;
    while let Some(found) = text[from..].find('\n') {
        let end = from + found;
        if !matches!(text.as_bytes().get(end + 1), Some(b' ' | b'\t')) {
            return end;
        }
        from = end + 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{field, fields, paragraphs};

    #[test]
    fn reads_fields_and_continuations() {
        let text = "# note\nPackage: a\nDepends: b,\n c\nEmpty:\nnonsense\nLast: x: y\n\n\nPackage: z\n";
        let all: Vec<_> = paragraphs(text).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(
            fields(all[0]).collect::<Vec<_>>(),
            [("Package", "a"), ("Depends", "b,\n c"), ("Empty", ""), ("Last", "x: y")]
        );
        assert_eq!(field(all[1], "package"), Some("z"));
        assert_eq!(field(all[1], "absent"), None);
    }
}
