//! The output of a step: whole in a file, line by line to the progress, its end in memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::network::Redactor;

/// Lines an error shows.
const TAIL: usize = 20;
/// Lines looked through for the reason of a failure.
const MEMORY: usize = 400;
/// A longer line is shown in pieces; bytes.
const LONGEST: usize = 8 * 1024;

/// Takes the bytes of a step's output.
pub(crate) struct Log<'a> {
    path: PathBuf,
    file: BufWriter<File>,
    redactor: &'a Redactor,
    pending: Vec<u8>,
    lines: VecDeque<String>,
}

impl<'a> Log<'a> {
    /// Writes to `<logs>/<name>.log`, replacing what is there.
    pub(crate) fn create(logs: &Path, name: &str, redactor: &'a Redactor) -> io::Result<Self> {
        std::fs::create_dir_all(logs)?;
        let path = logs.join(format!("{name}.log"));
        let file = BufWriter::new(File::create(&path)?);
        Ok(Self { path, file, redactor, pending: Vec::new(), lines: VecDeque::new() })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line of our own.
    pub(crate) fn note(&mut self, line: &str, shown: &mut dyn FnMut(String)) -> io::Result<()> {
        self.write(format!("{line}\n").as_bytes(), shown)
    }

    /// Takes some output and shows each line that ends in it. A carriage return ends a line too: the bars
    /// of download tools repaint themselves with it.
    pub(crate) fn write(&mut self, bytes: &[u8], shown: &mut dyn FnMut(String)) -> io::Result<()> {
        for &byte in bytes {
            if byte == b'\n' || byte == b'\r' {
                self.line(shown)?;
                continue;
            }
            self.pending.push(byte);
            // A secret may be on its way: what could be its beginning waits.
            if self.pending.len() >= LONGEST + self.redactor.longest() && byte < 0x80 {
                self.piece(shown)?;
            }
        }
        Ok(())
    }

    /// Ends the log: the last line need not have had its end.
    pub(crate) fn finish(&mut self, shown: &mut dyn FnMut(String)) -> io::Result<()> {
        self.line(shown)?;
        self.file.flush()
    }

    /// The last lines.
    pub(crate) fn tail(&self) -> Vec<String> {
        self.lines.iter().skip(self.lines.len().saturating_sub(TAIL)).cloned().collect()
    }

    /// The remembered lines, more than [`Log::tail`].
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// Shows what there is of a long line, but for an end that could be the beginning of a secret.
    fn piece(&mut self, shown: &mut dyn FnMut(String)) -> io::Result<()> {
        let at = self.pending.len() - self.redactor.longest();
        let mut at = self.redactor.cut(&self.pending, at);
        while at > 0 && at < self.pending.len() && self.pending[at] & 0xc0 == 0x80 {
            at -= 1;
        }
        let rest = self.pending.split_off(at);
        self.line(shown)?;
        self.pending = rest;
        Ok(())
    }

    fn line(&mut self, shown: &mut dyn FnMut(String)) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let line = self.redactor.apply(&String::from_utf8_lossy(&self.pending));
        self.pending.clear();
        self.file.write_all(line.as_bytes())?;
        self.file.write_all(b"\n")?;
        if self.lines.len() == MEMORY {
            self.lines.pop_front();
        }
        self.lines.push_back(line.clone());
        shown(line);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_core::host::HostNetwork;

    #[test]
    fn lines_survive_any_split_and_secrets_do_not() {
        let dir = tempfile::tempdir().expect("tempdir");
        let proxies = vec![("http_proxy".to_owned(), "http://u:geheim@p".to_owned())];
        let redactor = Redactor::new(&HostNetwork { proxies, ..HostNetwork::default() });
        let mut log = Log::create(dir.path(), "a", &redactor).expect("create");
        let mut shown = Vec::new();
        for piece in ["grö".as_bytes(), &"ße\nu:ge".as_bytes()[..6], b"geheim 1\r2", b"3"] {
            log.write(piece, &mut |line| shown.push(line)).expect("write");
        }
        log.finish(&mut |line| shown.push(line)).expect("finish");
        assert_eq!(shown, ["größe", "**** 1", "23"]);
        assert_eq!(std::fs::read_to_string(log.path()).expect("read"), "größe\n**** 1\n23\n");
        let long = format!("{}geheim{}", "x".repeat(LONGEST - 3), "y".repeat(LONGEST));
        let mut shown = String::new();
        log.note(&long, &mut |line| shown += &line).expect("write");
        assert_eq!(shown, long.replace("geheim", "****"), "a secret at the seam of a long line");
        for number in 0..1000 {
            log.note(&number.to_string(), &mut drop).expect("note");
        }
        assert_eq!(log.tail().len(), TAIL);
        assert_eq!(log.tail().last().map(String::as_str), Some("999"));
    }
}
