//! What was fetched before, on disk.
//!
//! ```text
//! store/packages/<host>/<owner>/<repo>/<commit>/tree/        the repository, read only
//!                                             /package.json  written last
//! store/pins/<host>/<owner>/<repo>/<ref>.json                which commit a branch or tag stood for, and when
//!                                 /%tags.json        its tags, for ranges of versions and `latest`
//! templates/<owner>/<repo>/<ref>                             a link to the tree, for people
//! ```
//!
//! A commit is kept for each repository it was asked of: `a/b@COMMIT` is never served what only `c/d` has.
//! Owner, repository and host are in lower case; a ref is escaped, so that it is one name.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use abx_core::Home;
use abx_core::fs::{Staging, sweep_staging, touch, write_atomic};
use abx_reference::Github;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};

use super::GithubError;
use super::escape::{escape, escape_ref, short, unescape};
use super::tags::{self, TagFile};

/// The files.
pub(super) const TREE: &str = "tree";
/// The mark of an entry that is whole.
const MARK: &str = "package.json";

/// Where one reference is kept.
pub(super) struct Cache {
    home: Home,
    host: String,
    /// `owner/repo`.
    repository: String,
    /// The name of its view.
    name: String,
    /// The commit that the reference names itself.
    commit: Option<String>,
}

/// What a reference stood for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pin {
    pub(super) commit: String,
    pub(super) etag: Option<String>,
    /// Seconds since 1970.
    pub(super) checked: u64,
    /// Whether the reference names the commit itself.
    #[serde(skip)]
    pub(super) is_commit: bool,
}

impl Pin {
    /// A commit is always; a clock that was set back makes nothing fresh.
    pub(super) fn is_fresh(&self, now: u64, ttl: Duration) -> bool {
        self.is_commit || is_young(self.checked, now, ttl)
    }
}

/// Whether less than `ttl` has passed since; never, where that is in the future.
pub(super) fn is_young(since: u64, now: u64, ttl: Duration) -> bool {
    now.checked_sub(since).is_some_and(|age| age < ttl.as_secs())
}

/// The mark's content.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) repository: String,
    pub(super) commit: String,
    pub(super) files: u64,
    /// Of the tree; entries of older versions have none.
    #[serde(default)]
    pub(super) digest: String,
    /// When the commit was made, in seconds since 1970; entries of older versions do not say.
    #[serde(default)]
    pub(super) committed: Option<i64>,
    /// Seconds since 1970.
    pub(super) fetched: u64,
}

impl Cache {
    /// `name` is the ref, `None` the default branch.
    pub(super) fn new(home: &Home, host: &str, reference: &Github, name: Option<&str>) -> Self {
        let repository = format!("{}/{}", reference.owner(), reference.repository()).to_ascii_lowercase();
        Self {
            home: home.clone(),
            host: escape(&host.to_ascii_lowercase()),
            repository,
            name: name.map_or_else(|| "default".to_owned(), escape_ref),
            commit: name.filter(|name| is_commit(name)).map(str::to_ascii_lowercase),
        }
    }

    /// What the reference stood for last time.
    pub(super) fn pin(&self) -> Option<Pin> {
        if let Some(commit) = &self.commit {
            return Some(Pin { commit: commit.clone(), etag: None, checked: 0, is_commit: true });
        }
        let pin: Pin = serde_json::from_slice(&std::fs::read(self.pin_path()).ok()?).ok()?;
        is_commit(&pin.commit).then_some(pin)
    }

    pub(super) fn remember(&self, pin: &Pin) -> Result<(), GithubError> {
        let path = self.pin_path();
        let bytes = serde_json::to_vec(pin).map_err(std::io::Error::from);
        bytes.and_then(|bytes| write_atomic(&path, &bytes)).map_err(GithubError::io("write", &path))
    }

    /// What the names stood for that have been asked for one by one.
    pub(super) fn pinned_names(&self) -> Vec<(String, Pin)> {
        let Ok(entries) = std::fs::read_dir(self.pins()) else { return Vec::new() };
        let name = |entry: std::fs::DirEntry| {
            let file = entry.file_name().into_string().ok()?;
            unescape(file.strip_suffix(".json")?)
        };
        let names = entries.flatten().filter_map(name);
        names.filter_map(|name| Some((name.clone(), self.of(&name).pin()?))).collect()
    }

    /// Where another name of the repository is kept.
    fn of(&self, name: &str) -> Self {
        Self {
            home: self.home.clone(),
            host: self.host.clone(),
            repository: self.repository.clone(),
            name: escape_ref(name),
            commit: None,
        }
    }

    /// The reference stands for nothing any more.
    pub(super) fn forget(&self) -> Result<(), GithubError> {
        let path = self.pin_path();
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(GithubError::io("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// The files of a commit, where all are there; absolute and without links.
    pub(super) fn tree(&self, commit: &str) -> Result<Option<PathBuf>, GithubError> {
        if !self.is_complete(commit) {
            return Ok(None);
        }
        touch(&self.entry(commit).join(MARK));
        let tree = self.entry(commit).join(TREE);
        tree.canonicalize().map(Some).map_err(GithubError::io("read", &tree))
    }

    pub(super) fn is_complete(&self, commit: &str) -> bool {
        self.record(commit).is_some() && self.entry(commit).join(TREE).is_dir()
    }

    /// When a commit that is here was made.
    pub(super) fn committed(&self, commit: &str) -> Option<i64> {
        self.record(commit)?.committed
    }

    fn record(&self, commit: &str) -> Option<Record> {
        let bytes = std::fs::read(self.entry(commit).join(MARK)).ok()?;
        serde_json::from_slice::<Record>(&bytes).ok().filter(|record| record.commit == commit)
    }

    pub(super) fn entry(&self, commit: &str) -> PathBuf {
        self.home.store("packages").join(&self.host).join(&self.repository).join(commit)
    }

    /// A place to prepare an entry in. What killed processes have left there goes first.
    pub(super) fn staging(&self) -> Result<Staging, GithubError> {
        let parent = self.home.store("staging");
        // Whatever is in the way of that will be told by who needs the room.
        let _ = sweep_staging(&parent);
        Staging::new(&parent).map_err(GithubError::io("write below", &parent))
    }

    /// Makes what is in `entry` of the staging directory the entry of its commit. What is in it is on disk already;
    /// a mark that a power cut took makes it none. The caller holds the commit's lock.
    pub(super) fn publish(&self, staging: Staging, entry: &str, record: &Record) -> Result<(), GithubError> {
        let prepared = staging.path().join(entry);
        let target = self.entry(&record.commit);
        let result = (|| {
            std::fs::write(prepared.join(MARK), serde_json::to_vec(record)?)?;
            match target.exists() {
                // An older one goes with the staging directory.
                true => Ok(renameat_with(CWD, &prepared, CWD, &target, RenameFlags::EXCHANGE)?),
                false => staging.publish(entry, &target),
            }
        })();
        result.map_err(GithubError::io("write", &target))
    }

    /// Lets the view that people see lead to a commit.
    pub(super) fn show(&self, commit: &str) -> Result<(), GithubError> {
        let view = self.view();
        let target = format!("{}/{commit}/{TREE}", self.seen_from_view());
        if std::fs::read_link(&view).is_ok_and(|found| found.as_os_str() == target.as_str()) {
            return Ok(());
        }
        let staging = self.staging()?;
        let link = staging.path().join("view");
        let result = (|| {
            std::fs::create_dir_all(self.home.templates().join(&self.repository))?;
            std::os::unix::fs::symlink(&target, &link)?;
            std::fs::rename(&link, &view)
        })();
        result.map_err(GithubError::io("write", &view))
    }

    /// The commit that the view leads to, where it is whole.
    pub(super) fn shown(&self) -> Option<String> {
        let target = std::fs::read_link(self.view()).ok()?;
        let commit = target.strip_prefix(self.seen_from_view()).ok()?.parent()?.to_str()?;
        (is_commit(commit) && self.is_complete(commit)).then(|| commit.to_owned())
    }

    fn view(&self) -> PathBuf {
        self.home.templates().join(&self.repository).join(&self.name)
    }

    fn seen_from_view(&self) -> String {
        format!("../../../store/packages/{}/{}", self.host, self.repository)
    }

    pub(super) fn ref_lock(&self) -> PathBuf {
        self.lock("ref", &self.name)
    }

    /// Of the list of tags.
    pub(super) fn tags_lock(&self) -> PathBuf {
        self.lock("tags", "all")
    }

    pub(super) fn commit_lock(&self, commit: &str) -> PathBuf {
        self.lock("commit", commit)
    }

    fn lock(&self, kind: &str, name: &str) -> PathBuf {
        let repository = self.repository.replace('/', "+");
        let name = format!("github-{kind}-{}-{repository}-{name}", self.host);
        self.home.store("locks").join(short(name))
    }

    fn pin_path(&self) -> PathBuf {
        self.pins().join(format!("{}.json", self.name))
    }

    fn pins(&self) -> PathBuf {
        self.home.store("pins").join(&self.host).join(&self.repository)
    }

    /// The list of the repository's tags.
    pub(super) fn tag_file(&self) -> TagFile {
        TagFile::new(self.pins().join(tags::FILE))
    }
}

/// A full commit id: such a name stands for nothing else.
pub(super) fn is_commit(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|letter| letter.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_makes_a_pin_stale_and_a_commit_never() {
        let ttl = Duration::from_secs(600);
        let pin = Pin { commit: String::new(), etag: None, checked: 1000, is_commit: false };
        assert!(pin.is_fresh(1599, ttl) && !pin.is_fresh(1600, ttl) && !pin.is_fresh(999, ttl));
        assert!(Pin { is_commit: true, ..pin }.is_fresh(u64::MAX, ttl));
    }
}
