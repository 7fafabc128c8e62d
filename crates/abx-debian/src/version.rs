//! Debian version numbers and their order.

use std::cmp::Ordering;

/// A version as in `1:2.36-9+deb12u13`: `[epoch:]upstream[-revision]`. Ordered as dpkg orders them, so
/// `1.0~rc1` is before `1.0`; equal means "neither is newer", not "same text" (`1.0` and `1.00`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version<'a> {
    epoch: u64,
    upstream: &'a str,
    revision: &'a str,
}

impl<'a> Version<'a> {
    /// Reads any text; what is no number before a colon counts as epoch 0, so that comparing never fails.
    pub(crate) fn new(text: &'a str) -> Self {
        let (epoch, rest) = match text.split_once(':') {
            Some((epoch, rest)) => (epoch.parse().unwrap_or(0), rest),
            None => (0, text),
        };
        let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, ""));
        Self { epoch, upstream, revision }
    }
}

impl Ord for Version<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.epoch
            .cmp(&other.epoch)
            .then_with(|| compare_part(self.upstream, other.upstream))
            .then_with(|| compare_part(self.revision, other.revision))
    }
}

impl PartialOrd for Version<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version<'_> {}

/// Alternates between runs of non-digits, compared by [`weight`], and runs of digits, compared as numbers.
fn compare_part(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.as_bytes(), right.as_bytes());
    while !left.is_empty() || !right.is_empty() {
        let (left_text, right_text) = (take(&mut left, false), take(&mut right, false));
        for index in 0..left_text.len().max(right_text.len()) {
            let order = weight(left_text.get(index)).cmp(&weight(right_text.get(index)));
            if order.is_ne() {
                return order;
            }
        }
        let (left_number, right_number) = (take_number(&mut left), take_number(&mut right));
        let order = left_number.len().cmp(&right_number.len()).then_with(|| left_number.cmp(right_number));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// `~` sorts before the end of the text, the end before letters, letters before everything else.
fn weight(byte: Option<&u8>) -> i32 {
    match byte {
        Some(b'~') => -1,
        None => 0,
        Some(byte) if byte.is_ascii_alphabetic() => i32::from(*byte),
        Some(byte) => i32::from(*byte) + 256,
    }
}

/// Cuts the leading run of digits (or of non-digits) off `text`.
fn take<'a>(text: &mut &'a [u8], digits: bool) -> &'a [u8] {
    let end = text.iter().position(|byte| byte.is_ascii_digit() != digits).unwrap_or(text.len());
    let (run, rest) = text.split_at(end);
    *text = rest;
    run
}

/// The leading digits without leading zeros, so that the longer run is the greater number.
fn take_number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let run = take(text, true);
    let zeros = run.iter().take_while(|byte| **byte == b'0').count();
    &run[zeros..]
}

#[cfg(test)]
mod tests {
    use super::Version;
    use std::cmp::Ordering::{self, Equal, Greater, Less};

    #[test]
    fn order() {
        let rows: &[(&str, Ordering, &str)] = &[
            ("1.0", Equal, "1.0"),
            ("1.0", Equal, "1.00"),
            ("1.0", Equal, "0:1.0"),
            ("1.0", Equal, "1.0-0"),
            ("1.9", Less, "1.10"),
            ("1:1.0", Greater, "2.0"),
            ("2:0", Less, "10:0"),
            ("1.0~rc1", Less, "1.0"),
            ("1.0~~", Less, "1.0~"),
            ("1.0~~a", Less, "1.0~"),
            ("1.0~", Less, "1.0"),
            ("1.0-1~bpo12+1", Less, "1.0-1"),
            ("1.0a", Greater, "1.0"),
            ("1.0a", Less, "1.0+"),
            ("1.0+b1", Greater, "1.0"),
            ("1.0.1", Greater, "1.0"),
            ("1.0-1", Less, "1.0-1+deb12u1"),
            ("1.0-1+deb12u9", Less, "1.0-1+deb12u10"),
            ("2.36-9+deb12u13", Greater, "2.36-9+deb12u9"),
            ("1.0-1.1", Greater, "1.0-1"),
            ("1-2-3", Greater, "1-1-9"),
            ("1.2.3", Less, "1.2.3-0.1"),
            ("099999999999999999999999", Equal, "99999999999999999999999"),
            ("99999999999999999999999", Less, "100000000000000000000000"),
            ("7.88.1-10", Less, "7.88.1-10+b1"),
            ("a", Less, "b"),
            ("", Less, "0a"),
            ("", Equal, "0"),
        ];
        for (left, expect, right) in rows {
            assert_eq!(Version::new(left).cmp(&Version::new(right)), *expect, "{left} {right}");
            assert_eq!(Version::new(right).cmp(&Version::new(left)), expect.reverse(), "{right} {left}");
        }
    }
}
