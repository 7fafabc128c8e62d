//! An archive off the wire into the store, unpacked while it arrives.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use abx_core::Progress;
use abx_core::progress::{self, Unit};
use abx_image::http::reqwest::Response;
use abx_reference::Github;
use tokio::sync::mpsc;

use super::api::{Api, broken, shown_host};
use super::cache::{Cache, Record, TREE, is_commit};
use super::pace::{PAUSES, Pace};
use super::{GithubError, GithubSettings, now, repository};
use crate::archive::{ArchiveFault, Caps, Extracted, extract};
use crate::digest;

/// However slowly it comes, it is over then.
const DOWNLOAD_TIME: Duration = Duration::from_secs(1800);

/// Linux opens no longer path, a byte for its end not counted.
const PATH_MAX: usize = 4095;

/// Chunks on their way from the wire to the disk.
const CHUNKS: usize = 16;

/// The entry below its staging directory.
const ENTRY: &str = "entry";

/// One commit of one repository.
struct Download<'a> {
    reference: &'a Github,
    commit: &'a str,
    settings: &'a GithubSettings,
    progress: &'a dyn Progress,
}

/// Fetches `commit` and publishes it. Returns what the user should know of it. The caller holds the commit's lock.
///
/// A transfer that breaks off is begun anew, a bounded number of times.
pub(super) async fn download(
    api: &Api,
    reference: &Github,
    commit: &str,
    cache: &Cache,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<Vec<String>, GithubError> {
    let download = Download { reference, commit, settings, progress };
    let mut pauses = PAUSES.iter();
    let (staging, extracted) = loop {
        let response = api.tarball(reference, commit).await?;
        // Each attempt has a directory of its own: nothing of a broken one is ever in an entry.
        let staging = cache.staging()?;
        let tree = staging.path().join(ENTRY).join(TREE);
        let caps = caps(settings, &[&tree, &cache.entry(commit).join(TREE)]);
        match (download.unpack(response, tree, caps).await, pauses.next()) {
            (Err(GithubError::Transfer { .. }), Some(pause)) => tokio::time::sleep(*pause).await,
            (extracted, _) => break (staging, extracted?),
        }
    };
    let record = Record {
        repository: repository(reference),
        commit: commit.to_owned(),
        files: extracted.files,
        digest: extracted.digest.clone(),
        committed: extracted.newest,
        fetched: now(),
    };
    cache.publish(staging, ENTRY, &record)?;
    Ok(warnings(&repository(reference), &extracted))
}

impl Download<'_> {
    /// Fills `tree` with what `response` sends, while it arrives.
    async fn unpack(&self, response: Response, tree: PathBuf, caps: Caps) -> Result<Extracted, GithubError> {
        std::fs::create_dir_all(&tree).map_err(GithubError::io("write", &tree))?;
        let host = shown_host(response.url());
        if response.content_length().is_some_and(|length| length > caps.compressed) {
            return Err(self.refused(ArchiveFault::Cap { what: "bytes of download", cap: caps.compressed }));
        }
        let (sender, receiver) = mpsc::channel(CHUNKS);
        let path = tree.clone();
        let mut unpacking = tokio::task::spawn_blocking(move || fill(Arriving::new(receiver), &path, &caps));
        let receiving = tokio::time::timeout(DOWNLOAD_TIME, self.receive(response, sender));
        let (received, unpacked) = tokio::select! {
            biased;
            received = receiving => (received, unpacking.await),
            // It has seen enough, and nobody listens any more.
            unpacked = &mut unpacking => (Ok(Ok(())), unpacked),
        };
        // An archive that broke off is damaged too; the reason is the better message.
        received.unwrap_or(Err(GithubError::TooSlow { host: host.clone(), limit: DOWNLOAD_TIME }))?;
        let unpacked = unpacked.map_err(|error| GithubError::io("unpack", &tree)(error.into()))?;
        let extracted = unpacked.map_err(|fault| self.refused(fault))?;
        match extracted.commit.as_deref().filter(|sent| is_commit(sent)) {
            Some(sent) if !sent.eq_ignore_ascii_case(self.commit) => Err(GithubError::OtherCommit {
                host,
                repository: repository(self.reference),
                asked: self.commit.to_owned(),
                sent: sent.to_owned(),
            }),
            _ => Ok(extracted),
        }
    }

    /// Hands on what arrives, until all is there or the other side has seen enough.
    async fn receive(
        &self,
        mut response: Response,
        sender: mpsc::Sender<Vec<u8>>,
    ) -> Result<(), GithubError> {
        let host = shown_host(response.url());
        let label = format!("fetching {} at {}", repository(self.reference), short(self.commit));
        let task = progress::start(self.progress, label, response.content_length(), Unit::Bytes);
        let window = self.settings.silence;
        let mut pace = Pace::new(window);
        loop {
            let asked = Instant::now();
            let chunk = response.chunk().await.map_err(|error| match error.is_timeout() {
                true => GithubError::Silent { host: host.clone(), time: window },
                false => broken(host.clone(), error),
            })?;
            let Some(chunk) = chunk else { return Ok(()) };
            if !pace.keeps(chunk.len(), asked.elapsed()) {
                return Err(GithubError::Drip { host });
            }
            task.advance(chunk.len() as u64);
            if sender.send(chunk.into()).await.is_err() {
                return Ok(());
            }
        }
    }

    fn refused(&self, fault: ArchiveFault) -> GithubError {
        GithubError::Archive {
            repository: repository(self.reference),
            commit: short(self.commit).to_owned(),
            fault,
        }
    }
}

/// The caps, with paths no longer than can be opened below each of these directories.
fn caps(settings: &GithubSettings, directories: &[&Path]) -> Caps {
    let length = |path: &&Path| std::path::absolute(path).map_or(0, |path| path.as_os_str().len());
    // One for the slash between them.
    let taken = 1 + directories.iter().map(length).max().unwrap_or_default();
    Caps { path: settings.caps.path.min(PATH_MAX.saturating_sub(taken)), ..settings.caps }
}

/// Extracts, and waits until all of it is on disk.
fn fill(source: impl Read + Send + 'static, tree: &Path, caps: &Caps) -> Result<Extracted, ArchiveFault> {
    let mut extracted = extract(source, tree, caps)?;
    let written = write_out(tree);
    extracted.digest =
        written.map_err(|source| ArchiveFault::Io { name: tree.display().to_string(), source })?;
    Ok(extracted)
}

/// Waits until a tree that was just made is on disk, and takes its digest meanwhile.
pub(crate) fn write_out(tree: &Path) -> io::Result<String> {
    std::thread::scope(|scope| {
        let written = scope.spawn(|| Ok(rustix::fs::syncfs(File::open(tree)?)?));
        let digest = digest::of_tree(tree)?;
        written.join().unwrap_or_else(|_| Err(io::Error::other("the thread has ended"))).map(|()| digest)
    })
}

/// What the user should know of an archive, named `repository`.
pub(crate) fn warnings(repository: &str, extracted: &Extracted) -> Vec<String> {
    const SHOWN: usize = 10;
    let mut warnings: Vec<String> =
        extracted.skipped.iter().take(SHOWN).map(|skipped| format!("{repository}: {skipped}")).collect();
    if let Some(more @ 1..) = extracted.left_out.checked_sub(SHOWN as u64) {
        warnings.push(format!("{repository}: {more} more were left out"));
    }
    let mut list = |what: &str, names: &[String]| {
        if !names.is_empty() {
            let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
            let more = if names.len() > SHOWN { ", …" } else { "" };
            warnings.push(format!("{repository}: {what}: {shown}{more}"));
        }
    };
    list("Git LFS pointers, whose content an archive does not have", &extracted.lfs);
    list("submodules, which an archive does not have", &extracted.submodules);
    warnings
}

/// As much of a commit as tells it from others.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// The reading end of a channel.
struct Arriving {
    receiver: mpsc::Receiver<Vec<u8>>,
    waiting: VecDeque<u8>,
}

impl Arriving {
    fn new(receiver: mpsc::Receiver<Vec<u8>>) -> Self {
        Self { receiver, waiting: VecDeque::new() }
    }
}

impl Read for Arriving {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.waiting.is_empty() {
            match self.receiver.blocking_recv() {
                Some(chunk) => self.waiting = chunk.into(),
                None => return Ok(0),
            }
        }
        self.waiting.read(buffer)
    }
}
