//! A server on the loopback that hands out files.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A running server; it lives as long as this process.
pub(crate) struct Server {
    address: SocketAddr,
    root: PathBuf,
}

impl Server {
    /// Hands out what lies below `root`.
    pub(crate) fn start(root: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind the loopback");
        let address = listener.local_addr().expect("an address");
        let folder = root.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let folder = folder.clone();
                std::thread::spawn(move || drop(answer(stream, &folder)));
            }
        });
        Self { address, root: root.to_owned() }
    }

    /// `127.0.0.1:PORT`.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Where its files are.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

fn answer(mut stream: TcpStream, root: &Path) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default().trim_start_matches('/');
    let file = root.join(path);
    let Ok(content) = std::fs::read(&file) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let modified = file.metadata()?.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nLast-Modified: {}\r\nConnection: close\r\n\r\n",
        content.len(),
        httpdate::fmt_http_date(modified)
    );
    stream.write_all(head.as_bytes())?;
    if method == "HEAD" { Ok(()) } else { stream.write_all(&content) }
}
