//! An archive off the wire into the store, unpacked while it arrives.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use abx_core::Progress;
use abx_core::progress::{self, Unit};
use abx_image::http::reqwest::Response;
use abx_reference::Github;
use tokio::sync::mpsc;

use super::api::{broken, shown_host};
use super::cache::{Cache, Record, TREE};
use super::{GithubError, GithubSettings, now, repository};
use crate::archive::{ArchiveFault, Caps, Extracted, extract};

/// However slowly it comes, it is over then.
const DOWNLOAD_TIME: Duration = Duration::from_secs(1800);

/// Chunks on their way from the wire to the disk.
const CHUNKS: usize = 16;

/// The entry below its staging directory.
const ENTRY: &str = "entry";

/// Unpacks what `response` sends and publishes it as `commit`. Returns what the user should know of it.
pub(super) async fn download(
    response: Response,
    reference: &Github,
    commit: &str,
    cache: &Cache,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<Vec<String>, GithubError> {
    let refused = |fault| GithubError::Archive {
        repository: repository(reference),
        commit: short(commit).to_owned(),
        fault,
    };
    let host = shown_host(response.url());
    let staging = cache.staging()?;
    let tree = staging.path().join(ENTRY).join(TREE);
    std::fs::create_dir_all(&tree).map_err(GithubError::io("write", &tree))?;
    let (sender, receiver) = mpsc::channel(CHUNKS);
    let caps = settings.caps;
    let unpacking = tokio::task::spawn_blocking(move || unpack(Arriving::new(receiver), &tree, &caps));
    let receiving = receive(response, reference, commit, sender, progress);
    let received = tokio::time::timeout(DOWNLOAD_TIME, receiving).await;
    let received = received.unwrap_or(Err(GithubError::TooSlow { host, limit: DOWNLOAD_TIME }));
    let unpacked =
        unpacking.await.map_err(|error| GithubError::io("unpack", staging.path())(error.into()))?;
    // An archive that broke off is damaged too; the reason is the better message.
    received?;
    let extracted = unpacked.map_err(refused)?;
    let record = Record {
        repository: repository(reference),
        commit: commit.to_owned(),
        files: extracted.files,
        fetched: now(),
    };
    cache.publish(staging, ENTRY, &record)?;
    Ok(warnings(&repository(reference), &extracted))
}

/// Extracts, and waits until all of it is on disk.
fn unpack(source: impl Read, tree: &Path, caps: &Caps) -> Result<Extracted, ArchiveFault> {
    let extracted = extract(source, tree, caps)?;
    let written = File::open(tree).and_then(|tree| Ok(rustix::fs::syncfs(tree)?));
    written.map_err(|source| ArchiveFault::Io { name: tree.display().to_string(), source })?;
    Ok(extracted)
}

/// Hands on what arrives, until all is there or the other side has seen enough.
async fn receive(
    mut response: Response,
    reference: &Github,
    commit: &str,
    sender: mpsc::Sender<Vec<u8>>,
    progress: &dyn Progress,
) -> Result<(), GithubError> {
    let host = shown_host(response.url());
    let label = format!("fetching {} at {}", repository(reference), short(commit));
    let task = progress::start(progress, label, response.content_length(), Unit::Bytes);
    while let Some(chunk) = response.chunk().await.map_err(|error| broken(host.clone(), error))? {
        task.advance(chunk.len() as u64);
        if sender.send(chunk.into()).await.is_err() {
            break;
        }
    }
    Ok(())
}

fn warnings(repository: &str, extracted: &Extracted) -> Vec<String> {
    const SHOWN: usize = 10;
    let mut warnings: Vec<String> =
        extracted.skipped.iter().take(SHOWN).map(|skipped| format!("{repository}: {skipped}")).collect();
    if let Some(more @ 1..) = extracted.skipped.len().checked_sub(SHOWN) {
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
