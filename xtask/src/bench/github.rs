//! A GitHub on the loopback with one repository: as much of it as everybody asks for.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bench::clock::{attempt, quiet};
use crate::bench::repository::{NAME, Repository};
use crate::failure::Failure;

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
        let redirect = format!("Location: http://{}/codeload/{NAME}/tar.gz\r\n", self.address);
        let (status, more, body): (u16, &str, &[u8]) = match path {
            path if path.starts_with("/codeload/") => (200, "", &self.archive),
            path if path.contains("/tarball/") => (302, &redirect, &[]),
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

/// A fresh folder in `place`, in the place of the last one, with the disk at rest: ours waits for it, and must not wait
/// for what others have written.
///
/// On ext4 a new file near many that were just removed takes a millisecond. Ours avoids such places; so that it is not
/// what is measured, everybody's folder is made far from the last one, where the file system can.
pub(crate) fn fresh(place: &Path) -> Result<PathBuf, Failure> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if place.exists() {
        std::fs::remove_dir_all(place).map_err(Failure::file(place))?;
    }
    std::fs::create_dir_all(place).map_err(Failure::file(place))?;
    attempt(Command::new("chattr").arg("+T").arg(place));
    let folder = place.join(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
    std::fs::create_dir(&folder).map_err(Failure::file(&folder))?;
    quiet(&mut Command::new("sync"))?;
    Ok(folder)
}
