//! `multipart/form-data`, read as it arrives.
//!
//! ```text
//! --boundary␍␊ header: value␍␊ … ␍␊ content ␍␊--boundary␍␊ … ␍␊--boundary--
//! ```

use std::io::{self, Read};

use memchr::memmem;

const READ: usize = 64 << 10;
/// Headers of one part, all together.
const MAX_HEAD: usize = 16 << 10;

/// The parts of a body. Between two calls of [`Multipart::next_part`] it reads as the current part's content.
pub(super) struct Multipart<'a> {
    source: &'a mut dyn Read,
    /// `␍␊--boundary`.
    delimiter: Vec<u8>,
    buffer: Vec<u8>,
    /// What of the buffer was consumed.
    start: usize,
    ended: bool,
    /// Within a part's content.
    in_part: bool,
}

/// What a part's headers say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) filename: Option<String>,
}

impl<'a> Multipart<'a> {
    pub(super) fn new(source: &'a mut dyn Read, boundary: &str) -> Self {
        // A line break before the first boundary makes it like the others.
        let buffer = b"\r\n".to_vec();
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        // What precedes the first boundary is content of no part.
        Self { source, delimiter, buffer, start: 0, ended: false, in_part: true }
    }

    /// Skips to the next part; `None` after the last.
    pub(super) fn next_part(&mut self) -> io::Result<Option<Part>> {
        io::copy(self, &mut io::sink())?;
        self.consume(self.delimiter.len())?;
        let mut mark = [0; 2];
        self.peek(&mut mark)?;
        if mark == *b"--" {
            return Ok(None);
        }
        let mut part = Part { name: String::new(), filename: None };
        let mut head = 0;
        // The first line is what is left of the boundary's own.
        self.line()?;
        loop {
            let line = self.line()?;
            head += line.len();
            if line.is_empty() {
                break;
            }
            if head > MAX_HEAD {
                return Err(damaged("headers of a part are too long"));
            }
            let line = String::from_utf8_lossy(&line).into_owned();
            if let Some((name, value)) = line.split_once(':')
                && name.trim().eq_ignore_ascii_case("content-disposition")
            {
                part.name = parameter(value, "name").unwrap_or_default();
                part.filename = parameter(value, "filename");
            }
        }
        self.in_part = true;
        Ok(Some(part))
    }

    fn available(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Reads more; `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let length = self.buffer.len();
        self.buffer.resize(length + READ, 0);
        let read = self.source.read(&mut self.buffer[length..]);
        self.buffer.truncate(length + read.as_ref().map_or(0, |read| *read));
        self.ended = read? == 0;
        Ok(!self.ended)
    }

    fn peek(&mut self, into: &mut [u8]) -> io::Result<()> {
        while self.available().len() < into.len() {
            if !self.fill()? {
                return Err(damaged("ends within a boundary"));
            }
        }
        into.copy_from_slice(&self.available()[..into.len()]);
        Ok(())
    }

    fn consume(&mut self, length: usize) -> io::Result<()> {
        while self.available().len() < length {
            if !self.fill()? {
                return Err(damaged("ends within a part"));
            }
        }
        self.start += length;
        Ok(())
    }

    fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = memmem::find(self.available(), b"\r\n") {
                let line = self.available()[..end].to_vec();
                self.start += end + 2;
                return Ok(line);
            }
            if self.available().len() > MAX_HEAD {
                return Err(damaged("headers of a part are too long"));
            }
            if !self.fill()? {
                return Err(damaged("ends within headers"));
            }
        }
    }
}

impl Read for Multipart<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.in_part {
            // All but the last bytes, which may begin a boundary, is content for sure.
            let found = memmem::find(self.available(), &self.delimiter);
            let content =
                found.unwrap_or_else(|| (self.available().len() + 1).saturating_sub(self.delimiter.len()));
            if content > 0 {
                let length = content.min(into.len());
                into[..length].copy_from_slice(&self.available()[..length]);
                self.start += length;
                return Ok(length);
            }
            if found.is_some() {
                self.in_part = false;
            } else if !self.fill()? {
                return Err(damaged("ends within a part"));
            }
        }
        Ok(0)
    }
}

fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// A parameter of `form-data; name="file"; filename="a\"b"`.
fn parameter(value: &str, wanted: &str) -> Option<String> {
    let mut rest = value.split_once(';')?.1;
    loop {
        let (name, after) = rest.split_once('=')?;
        let (text, next) = quoted(after.trim_start());
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(text);
        }
        rest = next.split_once(';')?.1;
    }
}

fn quoted(text: &str) -> (String, &str) {
    let Some(inner) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return (text[..end].trim().to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = inner.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => {
                // Browsers and HTTP libraries write a quote in a name as %22.
                return (value.replace("%22", "\""), &inner[place + 1..]);
            }
            '\\' if inner[place + 1..].starts_with(['"', '\\']) => {
                value.extend(characters.next().map(|(_, escaped)| escaped));
            }
            _ => value.push(character),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, so that boundaries are cut everywhere.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(into.len());
            into[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn parse(body: &[u8], step: usize) -> io::Result<Vec<(Part, Vec<u8>)>> {
        let mut source = Trickle(body, step);
        let mut multipart = Multipart::new(&mut source, "BB");
        let mut parts = Vec::new();
        while let Some(part) = multipart.next_part()? {
            let mut content = Vec::new();
            multipart.read_to_end(&mut content)?;
            parts.push((part, content));
        }
        Ok(parts)
    }

    #[test]
    fn parts_survive_any_cut() {
        let body = b"preamble\r\n--BB\r\nContent-Disposition: form-data; name=\"file\"; filename=\"/a \\\"b\\\"\"\r\n\
            Content-Type: text/plain\r\n\r\n\r\n--B\r\n-\r\n\r\n--BB\r\ncontent-disposition: form-data; name=file\r\n\r\n\
            \r\n--BB--\r\nepilogue";
        let part =
            |filename: Option<&str>| Part { name: "file".into(), filename: filename.map(str::to_owned) };
        for step in 1..body.len() {
            let parts = parse(body, step).expect("sound");
            assert_eq!(
                parts,
                [(part(Some("/a \"b\"")), b"\r\n--B\r\n-\r\n".to_vec()), (part(None), Vec::new()),],
                "step {step}"
            );
        }
    }

    #[test]
    fn damaged_bodies_are_errors() {
        for body in [
            &b""[..],
            b"--BB",
            b"--BB\r\nContent-Disposition: form-data; name=\"file\"\r\n",
            b"--BB\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nhalf",
        ] {
            assert!(parse(body, 3).is_err(), "{:?}", String::from_utf8_lossy(body));
        }
    }
}
