//! A GitHub on the loopback with one repository: as much of it as everybody asks for.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::bench::clock::{attempt, quiet};
use crate::bench::repository::{NAME, Repository};
use crate::failure::Failure;

/// The highest is `v9.9.9`.
pub(crate) const TAGS: usize = 1000;

/// It answers until the lab ends.
pub(crate) struct Github {
    address: SocketAddr,
}

/// What it knows.
struct Known {
    address: SocketAddr,
    commit: String,
    archive: Vec<u8>,
}

impl Github {
    pub(crate) fn start(repository: &Repository) -> Result<Self, Failure> {
        let failure = |source| Failure::Start { program: "a server on the loopback".to_owned(), source };
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failure)?;
        let address = listener.local_addr().map_err(failure)?;
        let known = Arc::new(Known {
            address,
            commit: repository.commit().to_owned(),
            archive: repository.archive()?,
        });
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let known = Arc::clone(&known);
                // Who hangs up early has its reasons.
                std::thread::spawn(move || known.answer(stream).ok());
            }
        });
        Ok(Self { address })
    }

    /// The base of its API.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where page so-and-so of its tags is, as `curl` counts them.
    pub(crate) fn tag_pages_url(&self) -> String {
        format!("{}/repos/{NAME}/tags?per_page=100&page=[1-{}]", self.url(), TAGS / 100)
    }

    /// Where the archive is, as `curl` fetches it.
    pub(crate) fn archive_url(&self) -> String {
        format!("{}/codeload/{NAME}/tar.gz", self.url())
    }
}

impl Known {
    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let request = lines.next().transpose()?.unwrap_or_default();
        while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
        let mut words = request.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (tags, pages) = (tags(&self.commit), pages(self.address));
        let redirect = format!("Location: http://{}/codeload/{NAME}/tar.gz\r\n", self.address);
        let (status, more, body): (u16, &str, &[u8]) = match path {
            path if path.starts_with("/codeload/") => (200, "", &self.archive),
            path if path.contains("/tarball/") => (302, &redirect, &[]),
            path if path.contains("/matching-refs/") => (200, "", tags.1.as_bytes()),
            path if path.contains("/tags?") => (200, &pages, tags.0.as_bytes()),
            path if path.contains("/commits/") => (200, "", self.commit.as_bytes()),
            _ => (404, "", b"{}"),
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} Told\r\nConnection: close\r\n{more}Content-Type: application/x-gzip\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        if method == "HEAD" { Ok(()) } else { stream.write_all(body) }
    }
}

/// A page of a hundred tags, and all [`TAGS`] of them: versions of one commit.
fn tags(commit: &str) -> (String, String) {
    let names =
        (0..TAGS).rev().map(|number| format!("v{}.{}.{}", number / 100, number / 10 % 10, number % 10));
    let refs = names
        .clone()
        .map(|name| format!(r#"{{"ref":"refs/tags/{name}","object":{{"type":"commit","sha":"{commit}"}}}}"#));
    let page = names.take(100).map(|name| format!(r#"{{"name":"{name}","commit":{{"sha":"{commit}"}}}}"#));
    let list = |items: Vec<String>| format!("[{}]", items.join(","));
    (list(page.collect()), list(refs.collect()))
}

fn pages(address: SocketAddr) -> String {
    let page = format!("<http://{address}/repos/{NAME}/tags?per_page=100&page=");
    format!("Link: {page}2>; rel=\"next\", {page}{}>; rel=\"last\"\r\n", TAGS / 100)
}

/// A fresh folder in `place`, in the place of the last one, with the disk at rest: ours waits for it, and must not wait
/// for what others have written.
///
/// On ext4 a new file near many that were just removed takes a millisecond. Ours avoids such places; so that it is not
/// what is measured, everybody's folder is made far from the last one, where the file system can.
pub(crate) fn fresh(place: &Path) -> Result<PathBuf, Failure> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Ours may still be writing to disk what it has handed out already.
    let start = Instant::now();
    while place.exists()
        && let Err(error) = std::fs::remove_dir_all(place)
    {
        if start.elapsed() > Duration::from_secs(10) {
            return Err(Failure::file(place)(error));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::create_dir_all(place).map_err(Failure::file(place))?;
    attempt(Command::new("chattr").arg("+T").arg(place));
    let folder = place.join(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
    std::fs::create_dir(&folder).map_err(Failure::file(&folder))?;
    quiet(&mut Command::new("sync"))?;
    Ok(folder)
}
