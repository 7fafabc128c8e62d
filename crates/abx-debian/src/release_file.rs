//! A suite's release file: what the archive signs.

use std::collections::HashMap;

use crate::date::parse_date;
use crate::deb822;
use crate::digest::Checksum;

/// The signed list of a suite's index files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseFile {
    pub suite: String,
    pub codename: String,
    /// When the archive made it, seconds since 1970, and as written there.
    pub date: u64,
    pub date_text: String,
    /// When a mirror that still serves it is out of date; not every suite says.
    pub valid_until: Option<u64>,
    /// Whether index files can be fetched under their digest, so that an update of the mirror in the middle
    /// of a fetch does no harm.
    pub by_hash: bool,
    files: HashMap<String, Checksum>,
}

/// Why a signed release file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseFault {
    #[error("it has no field {0}")]
    NoField(&'static str),
    #[error("its date {0:?} cannot be read")]
    Date(String),
    #[error("it is for {found}, not {wanted}")]
    OtherSuite { wanted: String, found: String },
    #[error("it is dated {0}, which is in the future")]
    Future(String),
    #[error("it was valid until {0} only")]
    Expired(String),
}

/// Clocks of mirrors and hosts differ a little.
const CLOCK_SKEW: u64 = 24 * 60 * 60;

impl ReleaseFile {
    /// Reads the text of a verified release file.
    pub fn parse(text: &str) -> Result<Self, ReleaseFault> {
        let paragraph = deb822::paragraphs(text).next().unwrap_or("");
        let fields: HashMap<&str, &str> = deb822::fields(paragraph).collect();
        let required = |name: &'static str| fields.get(name).copied().ok_or(ReleaseFault::NoField(name));
        let date_of = |text: &str| parse_date(text).ok_or_else(|| ReleaseFault::Date(text.to_owned()));
        let date_text = required("Date")?;
        Ok(Self {
            suite: fields.get("Suite").copied().unwrap_or("").to_owned(),
            codename: required("Codename")?.to_owned(),
            date: date_of(date_text)?,
            date_text: date_text.to_owned(),
            valid_until: fields.get("Valid-Until").copied().map(date_of).transpose()?,
            by_hash: fields.get("Acquire-By-Hash").is_some_and(|value| *value == "yes"),
            files: files(required("SHA256")?),
        })
    }

    /// Checks that it is the file of `wanted` (a codename such as `bookworm-security`) and that `now` is
    /// within its time.
    pub fn check(&self, wanted: &str, now: u64) -> Result<(), ReleaseFault> {
        self.check_suite(wanted)?;
        if self.date > now + CLOCK_SKEW {
            return Err(ReleaseFault::Future(self.date_text.clone()));
        }
        match self.valid_until {
            Some(until) if until < now => Err(ReleaseFault::Expired(self.date_text.clone())),
            _ => Ok(()),
        }
    }

    /// The part of [`ReleaseFile::check`] that holds at any time: a mirror must not pass one release's file
    /// off as another's.
    pub fn check_suite(&self, wanted: &str) -> Result<(), ReleaseFault> {
        if self.codename == wanted || self.suite == wanted {
            return Ok(());
        }
        Err(ReleaseFault::OtherSuite { wanted: wanted.to_owned(), found: self.codename.clone() })
    }

    /// What it says of an index file (`main/binary-amd64/Packages.xz`).
    pub fn file(&self, path: &str) -> Option<&Checksum> {
        self.files.get(path)
    }
}

/// Lines of digest, size and path.
fn files(value: &str) -> HashMap<String, Checksum> {
    value.lines().filter_map(file).collect()
}

fn file(line: &str) -> Option<(String, Checksum)> {
    let mut words = line.split_ascii_whitespace();
    let (sha256, size, path) = (words.next()?, words.next()?, words.next()?);
    Some((path.to_owned(), Checksum::new(sha256, size.parse().ok()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn text(date: &str, until: &str) -> String {
        format!(
            "Origin: Debian\nSuite: oldstable\nCodename: bookworm\nDate: {date}\n{until}\
             Acquire-By-Hash: yes\nMD5Sum:\n 00 1 main/x\nSHA256:\n {DIGEST}  12 main/binary-amd64/Packages.xz\n \
             zz 1 main/broken\n {DIGEST} 99 main/other\n"
        )
    }

    #[test]
    fn reads_what_is_signed() {
        let release = ReleaseFile::parse(&text("Thu, 01 Jan 1970 00:10:00 UTC", "")).expect("parse");
        assert_eq!((release.date, release.by_hash, release.valid_until), (600, true, None));
        let packages = release.file("main/binary-amd64/Packages.xz").expect("listed");
        assert_eq!((packages.sha256(), packages.size), (DIGEST, 12));
        assert_eq!(release.file("main/broken"), None);
    }

    #[test]
    fn is_believed_for_its_suite_and_time_only() {
        let until = "Valid-Until: Thu, 08 Jan 1970 00:00:00 UTC\n";
        let release = ReleaseFile::parse(&text("Sat, 03 Jan 1970 00:00:00 UTC", until)).expect("parse");
        let day = 24 * 60 * 60;
        for (wanted, now, holds) in [
            ("bookworm", 3 * day, true),
            ("oldstable", 3 * day, true),
            ("trixie", 3 * day, false),
            ("bookworm", day, true),
            ("bookworm", day - 1, false),
            ("bookworm", 7 * day, true),
            ("bookworm", 7 * day + 1, false),
        ] {
            assert_eq!(release.check(wanted, now).is_ok(), holds, "{wanted} at {now}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (text, expect) in [
            ("Codename: x\nSHA256:\n", ReleaseFault::NoField("Date")),
            ("Date: Thu, 01 Jan 1970 00:10:00 UTC\nSHA256:\n", ReleaseFault::NoField("Codename")),
            ("Codename: x\nDate: Thu, 01 Jan 1970 00:10:00 UTC\n", ReleaseFault::NoField("SHA256")),
            ("Codename: x\nDate: now\nSHA256:\n", ReleaseFault::Date("now".into())),
            ("", ReleaseFault::NoField("Date")),
        ] {
            assert_eq!(ReleaseFile::parse(text), Err(expect), "{text}");
        }
    }
}
