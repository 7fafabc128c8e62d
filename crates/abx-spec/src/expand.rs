//! `$NAME` in the values of `build.env`.

/// Replaces `$NAME` and `${NAME}` by what `lookup` knows, the empty string where it knows nothing; `$$` is a
/// literal dollar. A dollar before anything else stays as it is.
pub fn expand<'a>(value: &str, lookup: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(tail) = after.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = name(after) {
            out.push_str(lookup(name).unwrap_or_default());
            rest = tail;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out + rest
}

/// The name behind a dollar, and what follows it.
fn name(text: &str) -> Option<(&str, &str)> {
    if let Some(braced) = text.strip_prefix('{') {
        let (name, tail) = braced.split_once('}')?;
        return is_name(name).then_some((name, tail));
    }
    let end =
        text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(text.len());
    let (name, tail) = text.split_at(end);
    is_name(name).then_some((name, tail))
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn names_are_replaced_and_dollars_kept() {
        let rows = [
            ("/opt/venv/bin:$PATH", "/opt/venv/bin:/bin"),
            ("${PATH}x", "/binx"),
            ("$PATHx|", "|"),
            ("$$PATH", "$PATH"),
            ("$", "$"),
            ("a$ b", "a$ b"),
            ("$1", "$1"),
            ("${PATH", "${PATH"),
            ("${PATH:-x}", "${PATH:-x}"),
            ("$PATH$PATH", "/bin/bin"),
            ("é$PATH", "é/bin"),
        ];
        for (value, expected) in rows {
            let expanded = expand(value, |name| (name == "PATH").then_some("/bin"));
            assert_eq!(expanded, expected, "for `{value}`");
        }
    }
}
