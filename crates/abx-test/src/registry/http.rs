//! As much of HTTP/1.1 as a test registry needs.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// As much of it as was read.
    pub body: Vec<u8>,
}

impl Request {
    pub(crate) fn read(stream: &mut TcpStream) -> Option<Self> {
        Self::read_within(stream, |_| None)
    }

    /// Reads the request, and as many bytes of its body as `limit` says of its head; the rest stays unread.
    pub(crate) fn read_within(
        stream: &mut TcpStream,
        limit: impl FnOnce(&Self) -> Option<usize>,
    ) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut lines = reader.by_ref().lines();
        let first = lines.next()?.ok()?;
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let line = lines.next()?.ok()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self { method, path, headers, body: Vec::new() };
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let length = limit(&request).map_or(length, |limit| length.min(limit));
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&String> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn range_start(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }

    /// A value of the query; decoded as far as digests and repositories need.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.path.split_once('?')?;
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.into_iter().find(|(key, _)| *key == name)?;
        Some(value.replace("%3A", ":").replace("%2F", "/"))
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
    /// The body is told of, but not sent.
    pub(crate) is_headless: bool,
}

impl Response {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), is_headless: false }
    }

    pub(crate) fn with(mut self, name: &str, value: String) -> Self {
        self.set(name, value);
        self
    }

    pub(crate) fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
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
        if self.is_headless {
            return Ok(());
        }
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
