//! Addresses as a browser shows them.
//!
//! | behind `github.com/` | means |
//! |---|---|
//! | `o/r[.git]`, and what may follow in the short form | the same |
//! | `o/r/tree/REF[/sub]` | the directory |
//! | `o/r/blob/REF/[sub/]template.yaml` | the directory that holds the file |
//! | `o/r/releases/tag/TAG`, `o/r/commit/SHA` | the repository as it was then |
//!
//! The first component behind `tree` and `blob` is the ref: a branch with a `/` is written behind a `@`.

use super::Github;
use crate::error::Reason;

/// What follows the `://`.
pub(super) fn url(rest: &str) -> Result<Github, Reason> {
    let rest = rest.strip_prefix("git@").unwrap_or(rest);
    let (host, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.to_ascii_lowercase();
    if !matches!(host.as_str(), "github.com" | "www.github.com") {
        return Err(Reason::Host { host });
    }
    path(rest)
}

/// What follows the host.
pub(super) fn path(path: &str) -> Result<Github, Reason> {
    let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/');
    let parts: Vec<&str> = path.splitn(4, '/').collect();
    let [owner, repository, page, rest] = parts[..] else { return Github::parse_short(path) };
    let (git_ref, subdirectory) = match (page, rest.split_once('/')) {
        ("releases", Some(("tag", tag))) => (tag, None),
        ("tree" | "commit", Some((git_ref, below))) => (git_ref, Some(below)),
        ("tree" | "commit", None) => (rest, None),
        ("blob", Some((git_ref, file))) => (git_ref, file.rsplit_once('/').map(|(directory, _)| directory)),
        _ => return Github::parse_short(path),
    };
    let subdirectory = subdirectory.map(decoded);
    Github::build(owner, repository, subdirectory.as_deref(), Some(&decoded(git_ref)))
}

/// With `%20` as a space and so on; what is no printable text then is left as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    let printable = String::from_utf8(bytes).ok().filter(|decoded| !decoded.contains(char::is_control));
    printable.unwrap_or_else(|| text.to_owned())
}
