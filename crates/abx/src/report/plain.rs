//! Text from outside, made safe for a terminal.

/// The text with control characters shown as `\u{1b}` and the like, so that a file, a registry or a sandbox
/// cannot move the cursor, recolour or retitle the caller's terminal. Tabs stay.
pub(crate) fn plain(text: &str) -> String {
    if !text.chars().any(is_unsafe) {
        return text.to_owned();
    }
    text.chars().fold(String::with_capacity(text.len() + 16), |mut safe, letter| {
        if is_unsafe(letter) {
            safe.extend(letter.escape_default())
        } else {
            safe.push(letter)
        }
        safe
    })
}

/// A line of a log as a terminal would have left it: without colours, and of a line that was overwritten by
/// carriage returns its last state.
pub(crate) fn log_line(line: &str) -> String {
    let line = line.trim_end();
    let line = line.rsplit('\r').next().unwrap_or(line);
    plain(&anstream::adapter::strip_str(line).to_string())
}

/// Control characters, and the marks that reverse the direction of what follows.
fn is_unsafe(letter: char) -> bool {
    (letter.is_control() && letter != '\t')
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
