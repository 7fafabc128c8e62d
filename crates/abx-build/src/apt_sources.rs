//! The image's apt sources with the host's mirrors in the place of the distribution's own.

use abx_core::host::DebianMirrors;

/// What a Debian image's `/etc/os-release` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    /// `debian`, `ubuntu`, …
    pub(crate) id: String,
    /// `bookworm`; empty where the image does not say.
    pub(crate) codename: String,
}

/// Reads `/etc/os-release`.
pub(crate) fn release(os_release: &str) -> Release {
    let value = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_default().trim_matches(['"', '\'']).to_owned()
    };
    Release { id: value("ID"), codename: value("VERSION_CODENAME") }
}

/// The text of a sources file with the addresses of Debian's archive and security archive replaced; `None`
/// where nothing changes. Entries of other archives stay as they are.
pub(crate) fn rewrite(text: &str, codename: &str, mirrors: &DebianMirrors) -> Option<String> {
    if codename.is_empty() {
        return None;
    }
    let is_deb822 = text.lines().any(|line| line.to_ascii_lowercase().starts_with("types:"));
    let rewritten =
        if is_deb822 { deb822(text, codename, mirrors) } else { one_line(text, codename, mirrors) };
    (rewritten != text).then_some(rewritten)
}

/// The mirror for a suite of this release, where there is one.
fn mirror(suite: &str, codename: &str, mirrors: &DebianMirrors) -> Option<String> {
    match suite.trim_end_matches('/').strip_prefix(codename)? {
        "" | "-updates" | "-backports" | "-proposed-updates" => mirrors.archive.clone(),
        // Mirrors keep the security archive beside the other one.
        "-security" | "/updates" => {
            mirrors.security.clone().or_else(|| Some(format!("{}-security", mirrors.archive.as_ref()?)))
        }
        _ => None,
    }
}

fn one_line(text: &str, codename: &str, mirrors: &DebianMirrors) -> String {
    text.split_inclusive('\n')
        .map(|line| one_entry(line, codename, mirrors).unwrap_or_else(|| line.to_owned()))
        .collect()
}

/// `deb [options] uri suite component…`
fn one_entry(line: &str, codename: &str, mirrors: &DebianMirrors) -> Option<String> {
    let rest = line.trim_start().strip_prefix("deb")?;
    let rest = rest.strip_prefix("-src").unwrap_or(rest);
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => rest,
    };
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?, words.next()?);
    let mirror = mirror(suite, codename, mirrors)?;
    words.any(|word| word == "main").then(|| line.replacen(uri, &mirror, 1))
}

fn deb822(text: &str, codename: &str, mirrors: &DebianMirrors) -> String {
    let mut out = String::with_capacity(text.len());
    for paragraph in paragraphs(text) {
        let found: Vec<_> =
            field(paragraph, "suites").map(|suite| mirror(suite, codename, mirrors)).collect();
        let is_main = field(paragraph, "components").any(|word| word == "main");
        // A paragraph has one list of addresses for all its suites, so all of them must agree.
        match found.first() {
            Some(Some(mirror)) if is_main && found.iter().all(|one| one.as_ref() == Some(mirror)) => {
                out += &with_uri(paragraph, mirror);
            }
            _ => out += paragraph,
        }
    }
    out
}

/// Paragraphs with the blank lines behind them.
fn paragraphs(text: &str) -> Vec<&str> {
    let mut paragraphs = Vec::new();
    let (mut start, mut at, mut blank) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        if blank && !line.trim().is_empty() {
            paragraphs.push(&text[start..at]);
            start = at;
        }
        blank = line.trim().is_empty();
        at += line.len();
    }
    paragraphs.push(&text[start..]);
    paragraphs
}

/// The words of a field, continuation lines included, comments left out.
fn field<'a>(paragraph: &'a str, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let mut inside = false;
    let mut words = Vec::new();
    for line in paragraph.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with([' ', '\t']) {
            words.extend(line.split_whitespace().filter(|_| inside));
        } else if let Some((key, value)) = line.split_once(':') {
            inside = key.eq_ignore_ascii_case(name);
            words.extend(value.split_whitespace().filter(|_| inside));
        }
    }
    words.into_iter()
}

fn with_uri(paragraph: &str, mirror: &str) -> String {
    let mut out = String::with_capacity(paragraph.len());
    let mut inside = false;
    for line in paragraph.split_inclusive('\n') {
        if line.starts_with([' ', '\t', '#']) {
            if !inside {
                out += line;
            }
            continue;
        }
        inside = line.split_once(':').is_some_and(|(key, _)| key.eq_ignore_ascii_case("uris"));
        match inside {
            true => out += &format!("URIs: {mirror}\n"),
            false => out += line,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirrors() -> DebianMirrors {
        DebianMirrors {
            archive: Some("http://m.example/debian".into()),
            security: Some("http://m.example/security".into()),
        }
    }

    #[test]
    fn only_debians_own_entries_move() {
        let rows = [
            (
                "deb http://a.example/debian bookworm main\n# deb http://a.example/debian bookworm main\n",
                "deb http://m.example/debian bookworm main\n# deb http://a.example/debian bookworm main\n",
            ),
            (
                "deb [signed-by=/k] http://a.example/s/ bookworm-security main contrib",
                "deb [signed-by=/k] http://m.example/security bookworm-security main contrib",
            ),
            (
                "Types: deb\n# snapshot\nURIs: http://a.example/debian\nSuites: bookworm bookworm-updates\n\
                 Components: main\nSigned-By: /k\n\nTypes: deb\nURIs:\n http://a.example/s\n\
                 Suites: bookworm-security\nComponents: main\n",
                "Types: deb\n# snapshot\nURIs: http://m.example/debian\nSuites: bookworm bookworm-updates\n\
                 Components: main\nSigned-By: /k\n\nTypes: deb\nURIs: http://m.example/security\n\
                 Suites: bookworm-security\nComponents: main\n",
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(rewrite(text, "bookworm", &mirrors()).as_deref(), Some(expected));
        }
        for text in [
            "deb http://x.example/linux/debian bookworm stable\n",
            "deb http://x.example/pg bookworm-pgdg main\n",
            "deb http://a.example/debian trixie main\n",
            "Types: deb\nURIs: http://a.example/debian\nSuites: bookworm bookworm-security\nComponents: main\n",
        ] {
            assert_eq!(rewrite(text, "bookworm", &mirrors()), None, "{text}");
        }
        assert_eq!(
            rewrite("deb http://a.example/debian bookworm main", "bookworm", &DebianMirrors::default()),
            None
        );
    }

    #[test]
    fn os_release() {
        let text = "PRETTY_NAME=\"Debian\"\nID=debian\nVERSION_CODENAME=bookworm\n";
        assert_eq!(release(text), Release { id: "debian".into(), codename: "bookworm".into() });
        assert_eq!(release("").codename, "");
    }
}
