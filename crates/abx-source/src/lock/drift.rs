//! Where what is differs from what was locked.

use std::collections::BTreeSet;

use std::fmt;

use super::{Lock, LockError, LockedArchive, LockedBase, LockedTemplate};
use crate::BaseImage;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// Which member: its reference, or the base image's name.
    pub subject: String,
    pub locked: String,
    pub found: String,
}

impl Drift {
    pub(crate) fn new(subject: &str, locked: impl Into<String>, found: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), locked: locked.into(), found: found.into() }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: locked {}, found {}", self.subject, self.locked, self.found)
    }
}

impl Lock {
    /// Where what was found, as [`describe`](super::describe()) has it, differs from this lock, called `file`. Of the
    /// image at the bottom the name is compared; [`LockedBase::drift`] does the rest.
    ///
    /// # Errors
    /// E5022 for a package that differs at the commit it is locked to.
    pub fn drift(
        &self,
        found: &[LockedTemplate],
        base: &BaseImage,
        file: &str,
    ) -> Result<Vec<Drift>, LockError> {
        let mut drift = Vec::new();
        for index in 0..self.templates.len().max(found.len()) {
            let (locked, found) = match (self.templates.get(index), found.get(index)) {
                (Some(locked), Some(found)) if locked.reference == found.reference => (locked, found),
                // Whatever follows belongs to another parent.
                (locked, found) => {
                    let child = index.checked_sub(1).and_then(|index| self.templates.get(index));
                    drift.push(parents(child, locked, found));
                    return Ok(drift);
                }
            };
            drift.extend(members(locked, found, file)?);
        }
        let found = match base {
            BaseImage::Image { name, .. } => Some(name.as_str()),
            BaseImage::Stored { .. } | BaseImage::Vendored { .. } | BaseImage::Scratch => None,
        };
        let is_same = match (&self.base, found) {
            (Some(locked), Some(found)) => locked.is_of(found),
            (locked, found) => locked.is_none() && found.is_none(),
        };
        if !is_same {
            let locked = self.base.as_ref().map(LockedBase::image);
            let shown =
                |name: Option<&str>| name.map_or_else(|| "none".to_owned(), |name| format!("`{name}`"));
            drift.push(Drift::new("the base image", shown(locked), shown(found)));
        }
        Ok(drift)
    }

    /// Which images of Dockerfiles the lock does not hold, and which it holds for nothing.
    pub fn image_drift(&self, names: &BTreeSet<String>) -> Vec<Drift> {
        let drift = |name: &str, locked: &str, found: &str| {
            Drift::new(&format!("the image `{name}`"), locked.to_owned(), found.to_owned())
        };
        let missing = names.iter().filter(|name| self.image(name).is_none());
        let needless = self.images.iter().filter(|locked| !names.iter().any(|name| locked.is_of(name)));
        missing
            .map(|name| drift(name, "none", "used"))
            .chain(needless.map(|locked| drift(locked.image(), "used", "none")))
            .collect()
    }
}

/// `base.from` is another one.
fn parents(
    child: Option<&LockedTemplate>,
    locked: Option<&LockedTemplate>,
    found: Option<&LockedTemplate>,
) -> Drift {
    let shown = |parent: Option<&LockedTemplate>| {
        parent.map_or_else(|| "no parent".to_owned(), |parent| format!("`{}`", parent.reference))
    };
    let subject = child.map_or_else(|| "the template".to_owned(), |child| format!("`{}`", child.reference));
    Drift::new(&format!("the parent of {subject}"), shown(locked), shown(found))
}

fn members(locked: &LockedTemplate, found: &LockedTemplate, file: &str) -> Result<Option<Drift>, LockError> {
    let subject = format!("`{}`", locked.reference);
    let is_same = locked.digest == found.digest && locked.name == found.name;
    if is_same && (locked.commit == found.commit || locked.commit.is_none() || found.commit.is_none()) {
        return Ok(None);
    }
    if let (Some(commit), Some(expected), Some(digest)) = (&locked.commit, &locked.digest, &found.digest)
        && locked.commit == found.commit
        && expected != digest
    {
        return Err(LockError::Digest {
            file: file.to_owned(),
            reference: locked.reference.clone(),
            commit: commit.clone(),
            locked: expected.clone(),
            found: digest.clone(),
        });
    }
    if locked.kind != found.kind || locked.name != found.name {
        let shown = |template: &LockedTemplate| format!("{} `{}`", template.kind.as_str(), template.name);
        return Ok(Some(Drift::new(&subject, shown(locked), shown(found))));
    }
    Ok(Some(Drift::new(&subject, locked.shown(), found.shown())))
}

impl LockedTemplate {
    /// What it came to, in a word or two.
    pub fn shown(&self) -> String {
        let at = self.commit.as_deref().or(self.digest.as_deref()).map(short);
        match (&self.tag, at) {
            (Some(tag), Some(at)) => format!("{tag} ({at})"),
            (Some(tag), None) => tag.clone(),
            (None, Some(at)) => at,
            (None, None) => "itself".to_owned(),
        }
    }
}

impl LockedBase {
    /// What it came to, in a word or two.
    pub fn shown(&self) -> String {
        match self {
            Self::Registry { digest, .. } => short(digest),
            Self::Archive(archive) => archive.shown(),
        }
    }

    /// How another image of the same name differs.
    pub fn drift(&self, found: &Self) -> Option<Drift> {
        let subject = format!("`{}`", self.image());
        match (self, found) {
            (Self::Registry { digest, .. }, Self::Registry { digest: other, .. }) if digest == other => None,
            (Self::Archive(locked), Self::Archive(found)) => {
                let changes = locked.changes(found)?;
                Some(Drift::new(&subject, self.shown(), format!("{}, {changes}", found.shown())))
            }
            _ => Some(Drift::new(&subject, self.shown(), found.shown())),
        }
    }
}

impl LockedArchive {
    /// `Sat, 10 Jan 2026 09:58:09 UTC` in fewer words.
    fn shown(&self) -> String {
        let date = self.snapshot.split_once(", ").map_or(self.snapshot.as_str(), |(_, date)| date);
        format!("archive of {}", date.strip_suffix(" UTC").unwrap_or(date))
    }

    /// In which packages another state of the archive differs, `None` for in none. The first few by name.
    pub fn changes(&self, found: &Self) -> Option<String> {
        const NAMED: usize = 5;
        if self.release != found.release || self.platform != found.platform {
            return Some(format!("{} for {}", found.release, found.platform));
        }
        let (mut left, mut right) = (split(&self.packages), split(&found.packages));
        left.retain(|package| !unchanged(package, &found.packages));
        right.retain(|package| !unchanged(package, &self.packages));
        let mut changes: Vec<String> = Vec::new();
        for (name, version) in &left {
            match right.iter().find(|(other, _)| other == name) {
                Some((_, other)) => changes.push(format!("{name} {version} → {other}")),
                None => changes.push(format!("{name} {version} gone")),
            }
        }
        let is_new = |(name, _): &&(&str, &str)| !left.iter().any(|(other, _)| other == name);
        changes.extend(right.iter().filter(is_new).map(|(name, version)| format!("{name} {version} new")));
        let more = changes.len().saturating_sub(NAMED);
        changes.truncate(NAMED);
        match (changes.is_empty(), more) {
            (true, _) => None,
            (false, 0) => Some(changes.join(", ")),
            (false, more) => Some(format!("{} and {more} more", changes.join(", "))),
        }
    }
}

fn split(packages: &[String]) -> Vec<(&str, &str)> {
    packages.iter().map(|package| package.split_once('=').unwrap_or((package, ""))).collect()
}

fn unchanged((name, version): &(&str, &str), others: &[String]) -> bool {
    others.binary_search(&format!("{name}={version}")).is_ok()
}

/// As much of a commit or digest as tells it from others.
pub fn short(id: &str) -> String {
    match id.strip_prefix("sha256:") {
        Some(digits) => format!("sha256:{}", digits.chars().take(12).collect::<String>()),
        None => id.chars().take(12).collect(),
    }
}
