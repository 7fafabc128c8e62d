//! Here-documents: `<<EOF` on an instruction's line and the lines that follow it.

use std::ops::Range;

use crate::diagnostic::Findings;
use crate::problem::Problem;
use crate::source::Span;
use crate::syntax::line::{Lines, Slice};
use crate::syntax::tree::Heredoc;

/// What announces a here-document.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Marker {
    name: String,
    expand: bool,
    chomp: bool,
}

impl Marker {
    /// Reads `<<EOF`, `<<-EOF`, `<<"EOF"`, also with a number of a file before it. Space may stand before
    /// the name. `None` for any other word.
    fn read(word: &str) -> Option<Self> {
        let rest = opener(word)?;
        let (chomp, rest) = rest.strip_prefix('-').map_or((false, rest), |rest| (true, rest));
        let raw = rest.trim_start();
        if raw.contains('<') {
            return None;
        }
        let name = unquoted(raw)?;
        (!name.is_empty()).then(|| Self { expand: name == raw, name, chomp })
    }
}

/// What follows `<<`, digits before it allowed.
fn opener(word: &str) -> Option<&str> {
    word.trim_start_matches(|letter: char| letter.is_ascii_digit()).strip_prefix("<<")
}

/// The word without quotes and backslashes; `None` where a quote is not closed.
fn unquoted(raw: &str) -> Option<String> {
    let mut name = String::new();
    let mut quote = None;
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) => name.extend(letters.next()),
            (_, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => quote = Some(letter),
            _ => name.push(letter),
        }
    }
    quote.is_none().then_some(name)
}

/// Reads the here-documents that `line` announces from `lines`.
pub(crate) fn read(line: Slice<'_>, lines: &mut Lines<'_>, findings: &mut Findings<'_>) -> Vec<Heredoc> {
    if !line.text().contains("<<") {
        return Vec::new();
    }
    let mut heredocs = Vec::new();
    for range in markers(line.text()) {
        let Some(marker) = Marker::read(&line.text()[range.clone()]) else { continue };
        let span = line.part(range).span();
        let Some((content, found)) = content(&marker, lines) else {
            findings.fault(Problem::HeredocOpen { name: marker.name }, span);
            break;
        };
        let Marker { name, expand, chomp } = marker;
        heredocs.push(Heredoc { name, content, expand, chomp, span, lines: found });
    }
    heredocs
}

/// The lines up to the one that is the marker's name alone, and their place; `None` where the file ends
/// before it.
fn content(marker: &Marker, lines: &mut Lines<'_>) -> Option<(String, Span)> {
    let mut content = String::new();
    for line in lines {
        let text = line.text();
        let text = if marker.chomp { text.trim_start_matches('\t') } else { text };
        if text == marker.name {
            let start = line.start - content.len();
            return Some((content, Span { start, end: line.start }));
        }
        content.push_str(line.raw);
    }
    None
}

/// The content of a `<<-` document as it is meant: without the tabs that begin its lines.
pub(crate) fn without_tabs(content: &str) -> String {
    content.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect()
}

/// Where in a line a marker may stand: words, and `<<` with the word after it. Nothing within quotes or
/// arithmetic (`$(( 1 << n ))`).
fn markers(line: &str) -> Vec<Range<usize>> {
    let Some(words) = shell_words(line) else { return Vec::new() };
    let mut markers = Vec::new();
    let mut words = words.into_iter().peekable();
    let mut arithmetic = 0_usize;
    while let Some(word) = words.next() {
        let text = &line[word.clone()];
        let before = arithmetic;
        arithmetic = (arithmetic + text.matches("((").count()).saturating_sub(text.matches("))").count());
        if before > 0 || arithmetic > 0 {
            continue;
        }
        match opener(text) {
            Some("" | "-") => {
                if let Some(name) = words.next_if(|name| is_name(&line[name.clone()])) {
                    markers.push(word.start..name.end);
                }
            }
            Some(_) => markers.push(word),
            None => {}
        }
    }
    markers
}

/// Whether a word apart from its `<<` may be the name of a document.
fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphabetic() || matches!(first, '_' | '"' | '\''))
}

/// Words as a shell splits them; `None` where a quote is not closed.
fn shell_words(line: &str) -> Option<Vec<Range<usize>>> {
    let mut words = Vec::new();
    let mut start = None;
    let mut quote = None;
    let mut letters = line.char_indices();
    while let Some((at, letter)) = letters.next() {
        if quote.is_none() && letter.is_whitespace() {
            words.extend(start.take().map(|start| start..at));
            continue;
        }
        start.get_or_insert(at);
        match (letter, quote) {
            ('\\', None | Some('"')) => drop(letters.next()),
            (_, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => quote = Some(letter),
            _ => {}
        }
    }
    words.extend(start.map(|start| start..line.len()));
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::{markers, without_tabs};

    #[test]
    fn markers_are_words_of_their_own() {
        let rows: [(&str, &[&str]); 12] = [
            ("RUN cat <<EOF > /x", &["<<EOF"]),
            ("RUN <<-\"E O\" bash", &["<<-\"E O\""]),
            ("COPY a <<x <<-y /d", &["<<x", "<<-y"]),
            ("RUN cat << EOF", &["<< EOF"]),
            ("RUN cat <<- 'EOF' | sh", &["<<- 'EOF'"]),
            ("RUN cat 3<<EOF", &["3<<EOF"]),
            ("RUN echo '<<EOF'", &[]),
            ("RUN echo \"a <<EOF\"", &[]),
            ("RUN echo a<<EOF", &[]),
            ("RUN echo \\<<EOF", &[]),
            ("RUN echo $(( 1 << n )) $((1 <<2))", &[]),
            ("RUN echo it's <<EOF", &[]),
        ];
        for (line, expected) in rows {
            let found: Vec<_> = markers(line).into_iter().map(|range| &line[range]).collect();
            assert_eq!(found, expected, "for `{line}`");
        }
    }

    #[test]
    fn tabs_go_from_the_start_of_lines_alone() {
        assert_eq!(without_tabs("\t\ta\tb\n \tc\n\t\n"), "a\tb\n \tc\n\n");
    }
}
