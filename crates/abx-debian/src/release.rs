//! Which image names mean a Debian release.

use std::fmt;

/// A supported release, oldest first. The aliases follow the archive's state when this list was written:
/// `stable` is the last one.
const CODENAMES: &[(&str, &str, &str)] =
    &[("bullseye", "11", "oldoldstable"), ("bookworm", "12", "oldstable"), ("trixie", "13", "stable")];

/// One Debian release, whole or slim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    codename: &'static str,
    /// Without documentation, manual pages and translations, like the `-slim` tags.
    pub slim: bool,
}

impl Release {
    /// `bookworm`.
    pub fn codename(&self) -> &'static str {
        self.codename
    }

    /// The suites that make up the release, each with the archive it is in: the release itself, its updates,
    /// and its security updates.
    pub fn suites(&self) -> [(ArchivePart, String); 3] {
        [
            (ArchivePart::Main, self.codename.to_owned()),
            (ArchivePart::Main, format!("{}-updates", self.codename)),
            (ArchivePart::Security, format!("{}-security", self.codename)),
        ]
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.codename, if self.slim { "-slim" } else { "" })
    }
}

/// Debian publishes security updates from an archive of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchivePart {
    Main,
    Security,
}

/// The Debian release an image name stands for: `debian:bookworm-slim`, `docker.io/library/debian:12`,
/// `debian`. `None` for other images, and for names that pin one state (a digest, a date, a point release),
/// which the archive's present state is not.
pub fn release_of(image_name: &str) -> Option<Release> {
    let (repository, tag) = match image_name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, tag),
        _ => (image_name, "latest"),
    };
    let repository = ["docker.io/", "index.docker.io/"]
        .iter()
        .find_map(|host| repository.strip_prefix(host))
        .unwrap_or(repository);
    if repository.strip_prefix("library/").unwrap_or(repository) != "debian" {
        return None;
    }
    let (name, slim) = match tag.strip_suffix("-slim") {
        Some(name) => (name, true),
        None => (tag, false),
    };
    let name = if tag == "latest" { "stable" } else { name };
    CODENAMES
        .iter()
        .find(|(codename, number, alias)| [codename, number, alias].contains(&&name))
        .map(|(codename, ..)| Release { codename, slim })
}

#[cfg(test)]
mod tests {
    use super::release_of;

    #[test]
    fn names() {
        for (name, expect) in [
            ("debian", Some("trixie")),
            ("debian:latest", Some("trixie")),
            ("debian:stable-slim", Some("trixie-slim")),
            ("debian:bookworm-slim", Some("bookworm-slim")),
            ("debian:bookworm", Some("bookworm")),
            ("debian:trixie-slim", Some("trixie-slim")),
            ("debian:oldstable", Some("bookworm")),
            ("debian:11", Some("bullseye")),
            ("debian:12-slim", Some("bookworm-slim")),
            ("library/debian:bullseye", Some("bullseye")),
            ("docker.io/library/debian:12", Some("bookworm")),
            ("docker.io/debian", Some("trixie")),
            ("debian:latest-slim", None),
            ("debian:sid", None),
            ("debian:bookworm-20250520-slim", None),
            ("debian:12.11", None),
            ("debian@sha256:0123", None),
            ("ubuntu:22.04", None),
            ("someone/debian:bookworm", None),
            ("localhost:5000/debian", None),
            ("registry.example/library/debian:12", None),
            ("debian:", None),
            ("", None),
        ] {
            assert_eq!(release_of(name).map(|release| release.to_string()).as_deref(), expect, "{name}");
        }
    }
}
