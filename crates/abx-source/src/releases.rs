//! The releases of the templates that come with the program: `templates/releases.toml`, read when it is built.
//!
//! The newest release of a template is the version that is embedded. An older one is the tag `NAME/vVERSION` of the
//! official repository.

use abx_reference::{Selector, alias};

/// Every release of one template.
#[derive(Debug, PartialEq, Eq)]
pub struct Releases {
    /// The template's name, no alias.
    pub name: &'static str,
    /// The headline packages, in the order of the columns of a table.
    pub columns: &'static [&'static str],
    /// Newest first.
    pub releases: &'static [Release],
}

/// One release.
#[derive(Debug, PartialEq, Eq)]
pub struct Release {
    /// MAJOR.MINOR.PATCH.
    pub version: &'static str,
    /// YYYY-MM-DD.
    pub date: &'static str,
    /// Bytes of all its unpacked files; `None` where nobody has measured.
    pub size: Option<u64>,
    /// The versions of [`Releases::columns`]; an empty one is of a package that it lacks.
    pub packages: &'static [&'static str],
}

static RELEASES: &[Releases] = include!(concat!(env!("OUT_DIR"), "/releases.rs"));

/// All of them, in the order of their names.
pub fn all() -> &'static [Releases] {
    RELEASES
}

/// Those of one template, by its name or an alias; `None` where the program comes with no such template.
pub fn releases(name: &str) -> Option<&'static Releases> {
    let name = alias::resolve(name);
    RELEASES.iter().find(|releases| releases.name == name)
}

impl Releases {
    /// Newest first.
    pub fn versions(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.releases.iter().map(|release| release.version)
    }

    /// The best release for a selector.
    pub fn choose(&self, selector: &Selector) -> Option<&'static Release> {
        let version = selector.choose(self.releases.iter().map(|release| release.version))?;
        self.releases.iter().find(|release| release.version == version)
    }
}

#[cfg(test)]
mod tests {
    use abx_reference::Version;

    use super::*;
    use crate::builtins;

    fn version(text: &str) -> Version {
        Version::parse_strict(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn the_newest_release_is_the_embedded_version() {
        for builtin in builtins() {
            let releases = releases(builtin.name).unwrap_or_else(|| panic!("{} has releases", builtin.name));
            let text = builtin.file("template.yaml").expect("template.yaml").content;
            let text = std::str::from_utf8(text).expect("text");
            let embedded = abx_spec::parse(text, builtin.name).expect("valid").spec.metadata.version;
            let newest = releases.choose(&Selector::Latest).expect("a release");
            assert_eq!(newest.version, embedded, "{}", builtin.name);
            assert_eq!(newest, &releases.releases[0], "{}: the newest comes first", builtin.name);
        }
        assert_eq!(all().len(), builtins().len(), "releases without a template");
    }

    #[test]
    fn the_table_is_in_order() {
        for Releases { name, releases, .. } in all() {
            for pair in releases.windows(2) {
                assert!(version(pair[0].version).outranks(&version(pair[1].version)), "{name}");
                assert!(pair[0].date >= pair[1].date, "{name}: {}", pair[0].date);
            }
            for release in *releases {
                version(release.version);
                let is_date = |(at, letter): (usize, u8)| match at {
                    4 | 7 => letter == b'-',
                    _ => letter.is_ascii_digit(),
                };
                assert!(release.date.len() == 10 && release.date.bytes().enumerate().all(is_date), "{name}");
            }
        }
    }

    #[test]
    fn an_alias_has_the_releases_of_what_it_stands_for() {
        assert_eq!(releases("python"), releases("python-base"));
        assert_eq!(releases("nothing"), None);
    }
}
