//! As much of HTTP/1.1 as a test registry needs.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;

/// A request without its body.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Request {
    pub(crate) fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut lines = BufReader::new(stream).lines();
        let first = lines.next()?.ok()?;
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let line = lines.next()?.ok()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Some(Self { method, path, headers })
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&String> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn range_start(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }

    pub(crate) fn is_basic(&self, user: &str, password: &str) -> bool {
        self.header("authorization")
            == Some(&format!("Basic {}", base64(format!("{user}:{password}").as_bytes())))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &str, value: String) -> Self {
        self.set(name, value);
        self
    }

    pub(crate) fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn set(&mut self, name: &str, value: String) {
        self.headers.retain(|(key, _)| key != name);
        self.headers.push((name.to_owned(), value));
    }

    /// Writes it, hanging up after `cut` bytes of the body.
    pub(crate) fn write(&self, stream: &mut TcpStream, cut: Option<usize>) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {} Told\r\nConnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", self.body.len());
        stream.write_all(head.as_bytes())?;
        let end = cut.map_or(self.body.len(), |cut| cut.min(self.body.len()));
        stream.write_all(&self.body[..end])
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().enumerate().fold(0, |group, (at, byte)| group | u32::from(*byte) << (16 - 8 * at));
        for at in 0..4 {
            match at <= chunk.len() {
                true => text.push(ALPHABET[(group >> (18 - 6 * at)) as usize & 63] as char),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_pads() {
        for (text, expected) in [("a:b", "YTpi"), ("user:pw", "dXNlcjpwdw=="), ("ab", "YWI=")] {
            assert_eq!(super::base64(text.as_bytes()), expected);
        }
    }
}
