//! The package indexes of a release's suites, read as one.

use std::collections::HashMap;

use crate::digest::Checksum;
use crate::release::ArchivePart;
use crate::version::Version;
use crate::{deb822, relation};

/// One index file's text and the archive its paths are relative to.
pub(crate) struct IndexText {
    pub(crate) part: ArchivePart,
    pub(crate) text: String,
}

/// A package as an index describes it; texts borrow from the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    pub(crate) part: ArchivePart,
    pub(crate) essential: bool,
    pub(crate) priority: Priority,
    pub(crate) depends: &'a str,
    pub(crate) pre_depends: &'a str,
    provides: &'a str,
    filename: &'a str,
    size: &'a str,
    sha256: &'a str,
}

/// How much a system wants a package; the order decides among providers of a virtual package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    Required,
    Important,
    Standard,
    Optional,
}

/// All packages of a release, the newest version of each.
pub(crate) struct Index<'a> {
    newest: HashMap<&'a str, Entry<'a>>,
    /// Virtual package → its providers, with the version they provide.
    providers: HashMap<&'a str, Vec<(&'a str, Option<&'a str>)>>,
}

impl<'a> Index<'a> {
    /// Reads the indexes. Entries that lack a name, version or checksum are passed over: they cannot be
    /// installed.
    pub(crate) fn read(texts: &'a [IndexText]) -> Self {
        let mut newest: HashMap<&'a str, Entry<'a>> = HashMap::new();
        for index in texts {
            for entry in deb822::paragraphs(&index.text).filter_map(|text| entry(text, index.part)) {
                newest.entry(entry.name).and_modify(|known| *known = newer(*known, entry)).or_insert(entry);
            }
        }
        let mut providers: HashMap<_, Vec<_>> = HashMap::new();
        for entry in newest.values() {
            for (name, version) in entry.provides() {
                providers.entry(name).or_default().push((entry.name, version));
            }
        }
        Self { newest, providers }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry<'a>> {
        self.newest.get(name)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.newest.values()
    }

    /// Who provides a virtual package.
    pub(crate) fn providers(&self, name: &str) -> &[(&'a str, Option<&'a str>)] {
        self.providers.get(name).map_or(&[], Vec::as_slice)
    }
}

impl<'a> Entry<'a> {
    /// The virtual packages it provides, with version where given.
    pub(crate) fn provides(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + use<'a> {
        relation::groups(self.provides).flatten().map(|relation| (relation.name, relation.exact_version()))
    }

    /// The path below the archive's base; `None` for one that would leave it.
    pub(crate) fn filename(&self) -> Option<&'a str> {
        let safe = !self.filename.starts_with('/')
            && self.filename.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
            && self.filename.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
        safe.then_some(self.filename)
    }

    pub(crate) fn checksum(&self) -> Option<Checksum> {
        Checksum::new(self.sha256, self.size.parse().ok()?)
    }
}

/// The newer of two. Updates and security updates may carry another priority than the release: the more
/// wanted one of both counts, as does an essential mark.
fn newer<'a>(known: Entry<'a>, found: Entry<'a>) -> Entry<'a> {
    let better = Version::new(found.version) > Version::new(known.version);
    let mut entry = if better { found } else { known };
    entry.priority = known.priority.min(found.priority);
    entry.essential = known.essential || found.essential;
    entry
}

fn entry(paragraph: &str, part: ArchivePart) -> Option<Entry<'_>> {
    let mut entry = Entry {
        name: "",
        version: "",
        part,
        essential: false,
        priority: Priority::Optional,
        depends: "",
        pre_depends: "",
        provides: "",
        filename: "",
        size: "",
        sha256: "",
    };
    for (name, value) in deb822::fields(paragraph) {
        match name {
            "Package" => entry.name = value,
            "Version" => entry.version = value,
            "Essential" => entry.essential = value == "yes",
            "Priority" => entry.priority = priority(value),
            "Depends" => entry.depends = value,
            "Pre-Depends" => entry.pre_depends = value,
            "Provides" => entry.provides = value,
            "Filename" => entry.filename = value,
            "Size" => entry.size = value,
            "SHA256" => entry.sha256 = value,
            _ => {}
        }
    }
    let whole = is_package_name(entry.name) && is_version(entry.version) && entry.checksum().is_some();
    whole.then_some(entry)
}

fn priority(text: &str) -> Priority {
    match text {
        "required" => Priority::Required,
        "important" => Priority::Important,
        "standard" => Priority::Standard,
        _ => Priority::Optional,
    }
}

/// Names and versions become file names and lines of dpkg's database.
fn is_package_name(name: &str) -> bool {
    name.len() > 1
        && name.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.')
        })
        && name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
}

fn is_version(version: &str) -> bool {
    !version.is_empty()
        && version
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'~' | b':'))
}
