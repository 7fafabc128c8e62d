//! A source line with a caret under the place in question.

use abx_core::Snippet;
use unicode_width::UnicodeWidthStr;

use super::plain;
use crate::output::Paint;

/// Columns of a source line that are shown.
const WIDTH: usize = 100;
/// Columns kept before the caret of a line that is too long.
const LEAD: usize = 40;

/// ` --> file:line:column` and the line, framed, with carets below.
pub(super) fn excerpt(snippet: &Snippet, paint: Paint) -> String {
    let number = snippet.line.to_string();
    let margin = " ".repeat(number.len());
    let bar = paint.frame("|");
    let mut text = format!(
        "{margin}{} {}:{}:{}\n",
        paint.frame("-->"),
        plain(&snippet.file),
        snippet.line,
        snippet.column
    );
    if snippet.source.is_empty() && snippet.label.is_empty() {
        return text;
    }
    let window = Window::around(snippet);
    let label = plain(&snippet.label);
    let carets = paint.error(format!("{} {label}", window.carets).trim_end());
    let below = format!("{}{carets}", " ".repeat(window.indent));
    text.push_str(&format!("{margin} {bar}\n"));
    text.push_str(format!("{} {bar} {}", paint.frame(&number), window.line).trim_end());
    text.push_str(&format!("\n{margin} {bar} {below}\n"));
    text
}

/// The visible part of a line.
struct Window {
    line: String,
    /// Columns before the first caret.
    indent: usize,
    carets: String,
}

impl Window {
    fn around(snippet: &Snippet) -> Self {
        let letters: Vec<char> = snippet.source.chars().collect();
        let start = snippet.column.saturating_sub(1).min(letters.len());
        let end = start.saturating_add(snippet.length.max(1)).min(letters.len());
        let show = |range: &[char]| plain(&range.iter().collect::<String>()).replace('\t', "    ");
        let (mut before, marked, mut after) =
            (show(&letters[..start]), show(&letters[start..end]), show(&letters[end..]));
        if before.width() + marked.width() + after.width() > WIDTH {
            before = keep_end(&before, LEAD);
            after = keep_start(&after, WIDTH.saturating_sub(before.width() + marked.width()));
        }
        let indent = before.width();
        let carets = "^".repeat(marked.width().clamp(1, WIDTH));
        Self { line: format!("{before}{}{after}", keep_start(&marked, WIDTH)), indent, carets }
    }
}

fn keep_start(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if kept.width() + 3 >= columns {
            break;
        }
        kept.push(letter);
    }
    kept + "..."
}

fn keep_end(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut width = 3;
    for letter in text.chars().rev() {
        width += unicode_width::UnicodeWidthChar::width(letter).unwrap_or(0);
        if width > columns {
            break;
        }
        kept.push(letter);
    }
    "...".chars().chain(kept.into_iter().rev()).collect()
}
