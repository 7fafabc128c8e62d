//! The Debian mirrors an apt configuration names.

use abx_core::host::DebianMirrors;

use crate::deb822;

/// Reads the texts of `sources.list` and `sources.list.d/*` (both `*.list` and deb822 `*.sources`) in order;
/// the first enabled Debian archive and the first security archive win. Third-party archives, source-only
/// entries, and media (`cdrom:`, `file:`) are passed over.
pub fn mirrors_from_apt<'a>(texts: impl IntoIterator<Item = &'a str>) -> DebianMirrors {
    let mut mirrors = DebianMirrors::default();
    for text in texts {
        for entry in entries(text) {
            let slot = match part_of(&entry) {
                Some(Part::Archive) => &mut mirrors.archive,
                Some(Part::Security) => &mut mirrors.security,
                None => continue,
            };
            slot.get_or_insert_with(|| entry.uri.trim_end_matches('/').to_owned());
        }
    }
    mirrors
}

/// One archive and suite.
struct Entry<'a> {
    uri: &'a str,
    suite: &'a str,
    has_main: bool,
}

enum Part {
    Archive,
    Security,
}

/// Debian's suites have fixed names, so an entry is recognised by its suite; the address decides nothing,
/// because mirrors may serve the archive under any path.
fn part_of(entry: &Entry<'_>) -> Option<Part> {
    if !entry.has_main || !(entry.uri.starts_with("http://") || entry.uri.starts_with("https://")) {
        return None;
    }
    const NAMES: &[&str] = &[
        "bullseye",
        "bookworm",
        "trixie",
        "forky",
        "sid",
        "stable",
        "oldstable",
        "oldoldstable",
        "testing",
        "unstable",
    ];
    let suite = entry.suite.trim_end_matches('/');
    let (name, kind) = match suite.split_once(['-', '/']) {
        Some((name, kind)) => (name, kind),
        None => (suite, ""),
    };
    match kind {
        _ if !NAMES.contains(&name) => None,
        "" | "updates" => Some(Part::Archive),
        "security" => Some(Part::Security),
        _ => None,
    }
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    let deb822 = text.lines().any(|line| {
        line.split_once(':').is_some_and(|(name, _)| name.trim_start().eq_ignore_ascii_case("types"))
    });
    if deb822 { deb822::paragraphs(text).flat_map(paragraph_entries).collect() } else { line_entries(text) }
}

fn paragraph_entries(paragraph: &str) -> Vec<Entry<'_>> {
    let words = |name: &str| deb822::field(paragraph, name).unwrap_or("").split_whitespace();
    let off = words("Enabled").next().is_some_and(|word| matches!(word, "no" | "false" | "off" | "0"));
    if off || !words("Types").any(|word| word == "deb") {
        return Vec::new();
    }
    let has_main = words("Components").any(|word| word == "main");
    words("URIs")
        .filter(|uri| *uri != "#")
        .flat_map(|uri| words("Suites").map(move |suite| Entry { uri, suite, has_main }))
        .collect()
}

fn line_entries(text: &str) -> Vec<Entry<'_>> {
    text.lines().filter_map(line_entry).collect()
}

/// `deb [options] uri suite component…`
fn line_entry(line: &str) -> Option<Entry<'_>> {
    let rest = line.split('#').next()?.trim().strip_prefix("deb")?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => rest,
    };
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?, words.next()?);
    Some(Entry { uri, suite, has_main: words.any(|word| word == "main") })
}

#[cfg(test)]
mod tests {
    use super::mirrors_from_apt;

    fn check(texts: &[&str], archive: Option<&str>, security: Option<&str>) {
        let mirrors = mirrors_from_apt(texts.iter().copied());
        assert_eq!(
            (mirrors.archive.as_deref(), mirrors.security.as_deref()),
            (archive, security),
            "{texts:?}"
        );
    }

    #[test]
    fn one_line_style() {
        check(&["deb http://m.example/debian bookworm main"], Some("http://m.example/debian"), None);
        check(
            &["# deb http://no.example/debian bookworm main\n\
               deb-src http://no.example/debian bookworm main\n\
               deb [arch=amd64 signed-by=/k.gpg]  https://m.example/debian/ bookworm main contrib # x\n\
               deb http://m.example/debian bookworm-updates main\n\
               deb http://s.example/debian-security/ bookworm-security main\n"],
            Some("https://m.example/debian"),
            Some("http://s.example/debian-security"),
        );
        check(&["deb http://s.example/sec bullseye/updates main"], Some("http://s.example/sec"), None);
        check(&["deb cdrom:[Debian 12]/ bookworm main", "deb file:/srv/debian bookworm main"], None, None);
        check(
            &["deb http://m.example/ubuntu jammy main", "deb http://x.example/node nodistro main"],
            None,
            None,
        );
        check(&["deb http://m.example/debian bookworm-backports main"], None, None);
        check(&["deb http://x.example/tool stable contrib"], None, None);
        check(&["deb", "deb [broken", "debian", ""], None, None);
    }

    #[test]
    fn deb822_style() {
        check(
            &["Types: deb\n# a comment\nURIs: http://m.example/debian\nSuites: bookworm bookworm-updates\n\
               Components: main\nSigned-By: /k.gpg\n\nTypes: deb deb-src\nURIs: http://m.example/debian-security/\n\
               Suites: bookworm-security\nComponents: main\n"],
            Some("http://m.example/debian"),
            Some("http://m.example/debian-security"),
        );
        check(
            &["Enabled: no\nTypes: deb\nURIs: http://m.example/d\nSuites: trixie\nComponents: main"],
            None,
            None,
        );
        check(&["Types: deb-src\nURIs: http://m.example/d\nSuites: trixie\nComponents: main"], None, None);
        check(
            &[
                "Types: deb\nURIs:\n http://one.example/d\n http://two.example/d\nSuites: trixie\nComponents: main",
            ],
            Some("http://one.example/d"),
            None,
        );
    }

    #[test]
    fn the_first_of_several_files_wins() {
        check(
            &[
                "deb http://packages.example/cloud cloud-bookworm main",
                "deb http://a.example/debian bookworm main",
                "deb http://b.example/debian bookworm main",
            ],
            Some("http://a.example/debian"),
            None,
        );
    }
}
