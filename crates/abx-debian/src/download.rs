//! Verified downloads and the cache they are kept in.
//!
//! ```text
//! store/cache/debs/<sha256>        packages, index files and release files by their digest
//! store/cache/debs/state/<key>.json  what the last bootstrap of a release was made from
//! ```

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use abx_core::progress::Task;
use reqwest::{Client, Response};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::digest::{Checksum, Checksummer};
use crate::error::DebianError;

/// Release files of the largest suites are below 1 MB.
const TEXT_CAP: usize = 16 << 20;

/// A transfer that breaks off is begun again this often.
const ATTEMPTS: usize = 3;

/// Fetches through one client into one cache.
#[derive(Clone, Debug)]
pub(crate) struct Downloads {
    client: Client,
    cache: PathBuf,
    offline: bool,
}

/// One file to fetch.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// What it is, for people: `package libc6 2.36-9`.
    pub(crate) subject: String,
    pub(crate) url: String,
    pub(crate) checksum: Checksum,
}

impl Downloads {
    pub(crate) fn new(client: Client, cache: PathBuf, offline: bool) -> Self {
        Self { client, cache, offline }
    }

    /// A text that is not known beforehand.
    pub(crate) async fn text(&self, url: &str, kind: &'static str) -> Result<String, DebianError> {
        let mut response = self.get(url).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| transfer(url, error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > TEXT_CAP {
                return Err(DebianError::NotA { url: shown(url), kind });
            }
        }
        String::from_utf8(bytes).map_err(|_| DebianError::NotA { url: shown(url), kind })
    }

    /// A file whose digest is known: from the cache, else from the network and then kept there. What does not
    /// match is not kept.
    pub(crate) async fn verified(&self, wanted: &Wanted, task: &Task<'_>) -> Result<Vec<u8>, DebianError> {
        if let Some(bytes) = self.cached(&wanted.checksum).await? {
            task.advance(bytes.len() as u64);
            return Ok(bytes);
        }
        if self.offline {
            return Err(DebianError::Offline { release: wanted.subject.clone() });
        }
        let mut attempt = 1;
        let bytes = loop {
            match self.fetch(wanted, task).await {
                Err(DebianError::Interrupted { .. }) if attempt < ATTEMPTS => attempt += 1,
                result => break result?,
            }
        };
        self.keep(bytes, &wanted.checksum).await
    }

    /// Bytes of the cache that still have their digest; damaged ones count as absent.
    pub(crate) async fn cached(&self, checksum: &Checksum) -> Result<Option<Vec<u8>>, DebianError> {
        let path = self.path(checksum);
        let wanted = checksum.clone();
        blocking(move || match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes).filter(|bytes| Checksum::of(bytes) == wanted)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(DebianError::file("read", &path)(error)),
        })
        .await
    }

    /// Puts bytes of known digest into the cache and hands them back.
    pub(crate) async fn keep(&self, bytes: Vec<u8>, checksum: &Checksum) -> Result<Vec<u8>, DebianError> {
        let path = self.path(checksum);
        blocking(move || {
            put(&path, &bytes).map_err(DebianError::file("write", &path))?;
            Ok(bytes)
        })
        .await
    }

    async fn fetch(&self, wanted: &Wanted, task: &Task<'_>) -> Result<Vec<u8>, DebianError> {
        let mut response = self.get(&wanted.url).await?;
        let mut bytes = Vec::with_capacity(wanted.checksum.size.min(64 << 20) as usize);
        let mut found = Checksummer::default();
        while let Some(chunk) = response.chunk().await.map_err(|error| transfer(&wanted.url, error))? {
            found.update(&chunk);
            bytes.extend_from_slice(&chunk);
            task.advance(chunk.len() as u64);
            if found.size() > wanted.checksum.size {
                break;
            }
        }
        let found = found.finish();
        if found == wanted.checksum {
            return Ok(bytes);
        }
        Err(DebianError::Digest {
            subject: wanted.subject.clone(),
            url: shown(&wanted.url),
            wanted: wanted.checksum.clone(),
            found,
        })
    }

    async fn get(&self, url: &str) -> Result<Response, DebianError> {
        let response = self.client.get(url).send().await.map_err(|error| transfer(url, error))?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(DebianError::Refused { url: shown(url), status: status.as_u16() }),
        }
    }

    fn path(&self, checksum: &Checksum) -> PathBuf {
        self.cache.join(checksum.sha256())
    }
}

/// Runs blocking work on the threads for it; a panic there goes on here.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => unreachable!("blocking work is never cancelled while it is awaited"),
    }
}

/// The file appears whole or not at all, and a process killed half-way leaves nothing: it has no name until it
/// is written. Not synced: what is read from the cache is verified every time.
fn put(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)?;
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mut file = match rustix::fs::open(parent, flags, Mode::from_raw_mode(0o644)) {
        Ok(file) => File::from(file),
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => return put_by_rename(path, parent, bytes),
        Err(error) => return Err(error.into()),
    };
    file.write_all(bytes)?;
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    let name = || rustix::fs::linkat(CWD, &unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW);
    match name() {
        // What is there was found damaged, or another process has just put the same.
        Err(Errno::EXIST) => {
            rustix::fs::unlink(path)
                .or_else(|error| if error == Errno::NOENT { Ok(()) } else { Err(error) })?;
            name().or_else(|error| if error == Errno::EXIST { Ok(()) } else { Err(error) })?;
            Ok(())
        }
        result => Ok(result?),
    }
}

/// For file systems without unnamed files.
fn put_by_rename(path: &Path, parent: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".tmp-").tempfile_in(parent)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn transfer(url: &str, error: reqwest::Error) -> DebianError {
    let unreachable = error.is_connect() || error.is_timeout() || error.is_builder();
    let (url, source) = (shown(url), error.without_url());
    match unreachable {
        true => DebianError::Unreachable { url, source },
        false => DebianError::Interrupted { url, source },
    }
}

/// An address without the credentials it may hold.
pub(crate) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{put, put_by_rename, shown};

    #[test]
    fn files_of_the_cache_are_replaced_and_nothing_stays_beside() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("cache/file");
        put(&path, b"damaged").expect("first");
        put(&path, b"whole").expect("second");
        assert_eq!(std::fs::read(&path).expect("read"), b"whole");
        put_by_rename(&path, &dir.path().join("cache"), b"renamed").expect("third");
        assert_eq!(std::fs::read(&path).expect("read"), b"renamed");
        assert_eq!(std::fs::read_dir(dir.path().join("cache")).expect("list").count(), 1);
    }

    #[test]
    fn credentials_are_not_shown() {
        for (url, expect) in [
            ("http://m.example/debian", "http://m.example/debian"),
            ("https://user:pass@m.example/debian", "https://m.example/debian"),
            ("https://m.example/a@b", "https://m.example/a@b"),
            ("https://u:p@ss@m.example", "https://m.example"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(shown(url), expect);
        }
    }
}
