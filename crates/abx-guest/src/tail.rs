//! The last bytes of an output.

/// Keeps the end of what it is given.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
}

impl Tail {
    /// Bytes that are kept at least, where there were so many.
    const KEPT: usize = 16 << 10;

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(Self::KEPT)..]);
        if self.bytes.len() > 2 * Self::KEPT {
            self.bytes.drain(..self.bytes.len() - Self::KEPT);
        }
    }

    /// As text, from the start of a line where something was dropped before.
    pub(crate) fn text(&self) -> String {
        let cut = self.bytes.len().saturating_sub(Self::KEPT);
        let kept = &self.bytes[cut..];
        let start = match (cut, kept.iter().position(|byte| *byte == b'\n')) {
            (1.., Some(line_break)) => line_break + 1,
            _ => 0,
        };
        String::from_utf8_lossy(&kept[start..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Tail;

    #[test]
    fn the_end_is_kept() {
        let mut tail = Tail::default();
        tail.push(b"all of it\n");
        assert_eq!(tail.text(), "all of it\n");
        for number in 0..10_000 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.starts_with("line "), "{}", &text[..20]);
        assert!(text.ends_with("line 9999\n"));
        assert!(text.len() > Tail::KEPT - 20 && text.len() <= Tail::KEPT);
    }
}
