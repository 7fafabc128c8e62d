//! Messages of the domain name system: as much of them as a policy is about (RFC 1035).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// A question, or an answer to one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// The name asked for, in lower case, without a dot at its end.
    pub(super) question: String,
    /// The addresses in the answer, and how long they hold.
    pub(super) addresses: Vec<(IpAddr, Duration)>,
    /// Other names the answer goes by.
    pub(super) aliases: Vec<String>,
}

const HEADER: usize = 12;
const NO_SUCH_NAME: u8 = 3;
const SERVER_FAILURE: u8 = 2;
/// A name has at most 255 bytes; more jumps than this are a circle.
const MOST_JUMPS: usize = 128;
/// Records that are looked at.
const MOST_RECORDS: u16 = 512;

impl Message {
    /// `None` where it does not ask one question, or is cut off anywhere but between two records.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        if number(bytes, 4)? != 1 {
            return None;
        }
        let (question, behind) = name(bytes, HEADER)?;
        let mut message = Self { question, addresses: Vec::new(), aliases: Vec::new() };
        let mut at = behind + 4;
        if at > bytes.len() {
            return None;
        }
        for _ in 0..number(bytes, 6)?.min(MOST_RECORDS) {
            if at == bytes.len() {
                break;
            }
            at = message.record(bytes, at)?;
        }
        Some(message)
    }

    /// Reads the record at `at`: name, type, class, time, length, data. Returns what is behind it.
    fn record(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        const ADDRESS: u16 = 1;
        const ALIAS: u16 = 5;
        const LONG_ADDRESS: u16 = 28;
        const SUBTREE_ALIAS: u16 = 39;
        let (_, at) = name(bytes, at)?;
        let kind = number(bytes, at)?;
        let time = u32::from(number(bytes, at + 4)?) << 16 | u32::from(number(bytes, at + 6)?);
        let (start, length) = (at + 10, usize::from(number(bytes, at + 8)?));
        let data = bytes.get(start..start + length)?;
        let time = Duration::from_secs(time.into());
        match (kind, length) {
            (ADDRESS, 4) => {
                self.addresses.push((Ipv4Addr::from(<[u8; 4]>::try_from(data).ok()?).into(), time));
            }
            (LONG_ADDRESS, 16) => {
                self.addresses.push((Ipv6Addr::from(<[u8; 16]>::try_from(data).ok()?).into(), time));
            }
            (ALIAS | SUBTREE_ALIAS, _) => self.aliases.push(name(bytes, start)?.0),
            _ => {}
        }
        Some(start + length)
    }
}

/// The answer that there is no such name.
pub(super) fn no_such_name(question: &[u8]) -> Vec<u8> {
    answer(question, NO_SUCH_NAME)
}

/// The answer that there is none.
pub(super) fn failure(question: &[u8]) -> Vec<u8> {
    answer(question, SERVER_FAILURE)
}

/// The question itself, marked as an answer with nothing in it but this code.
fn answer(question: &[u8], code: u8) -> Vec<u8> {
    const RESPONSE: u8 = 0x80;
    const ASKED_FOR_RECURSION: u8 = 0x79;
    const RECURSION_AVAILABLE: u8 = 0x80;
    let mut bytes = vec![0; HEADER];
    let known = question.len().min(HEADER);
    bytes[..known].copy_from_slice(&question[..known]);
    bytes[2] = RESPONSE | bytes[2] & ASKED_FOR_RECURSION;
    bytes[3] = RECURSION_AVAILABLE | code;
    bytes[4..].fill(0);
    if let Some((_, behind)) = name(question, HEADER)
        && let Some(asked) = question.get(HEADER..behind + 4)
    {
        bytes[5] = 1;
        bytes.extend_from_slice(asked);
    }
    bytes
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// The name at `at`, and what is behind it there. Bytes that are no letters of host names are escaped, so that no two
/// names look alike.
fn name(bytes: &[u8], mut at: usize) -> Option<(String, usize)> {
    const JUMP: u8 = 0xc0;
    let (mut text, mut behind) = (String::new(), None);
    for _ in 0..MOST_JUMPS {
        let length = *bytes.get(at)?;
        match length {
            0 => return Some((text, behind.unwrap_or(at + 1))),
            JUMP.. => {
                behind = behind.or(Some(at + 2));
                at = usize::from(number(bytes, at)? & 0x3fff);
            }
            1..64 => {
                if !text.is_empty() {
                    text.push('.');
                }
                for byte in bytes.get(at + 1..at + 1 + usize::from(length))? {
                    match byte {
                        b'.' | b'\\' | 0..=b' ' | 0x7f.. => text.push_str(&format!("\\{byte:03}")),
                        byte => text.push(byte.to_ascii_lowercase().into()),
                    }
                }
                at += 1 + usize::from(length);
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A name as it travels.
    pub(crate) fn labels(name: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for label in name.split('.').filter(|label| !label.is_empty()) {
            bytes.push(label.len() as u8);
            bytes.extend(label.as_bytes());
        }
        bytes.push(0);
        bytes
    }

    /// A question for an address.
    pub(crate) fn question(name: &str) -> Vec<u8> {
        [&[0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &labels(name), &[0, 1, 0, 1]].concat()
    }

    /// An answer with records of a name, a type, a time and data.
    pub(crate) fn answer_with(name: &str, records: &[(Vec<u8>, u16, u32, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = question(name);
        bytes[2] |= 0x80;
        bytes[7] = records.len() as u8;
        for (owner, kind, time, data) in records {
            bytes.extend(owner);
            bytes.extend(kind.to_be_bytes());
            bytes.extend([0, 1]);
            bytes.extend(time.to_be_bytes());
            bytes.extend((data.len() as u16).to_be_bytes());
            bytes.extend(data);
        }
        bytes
    }

    #[test]
    fn names_addresses_and_aliases_are_read() {
        let to_start = vec![0xc0, 12];
        let bytes = answer_with(
            "WWW.Example.com",
            &[
                (to_start.clone(), 5, 60, labels("cdn.example.net")),
                (labels("cdn.example.net"), 1, 300, vec![192, 0, 2, 1]),
                (to_start.clone(), 28, 70_000, Ipv6Addr::LOCALHOST.octets().to_vec()),
                (to_start, 16, 60, vec![1, b'x']),
            ],
        );
        let message = Message::parse(&bytes).expect("a message");
        assert_eq!(message.question, "www.example.com");
        assert_eq!(message.aliases, ["cdn.example.net"]);
        let seconds = Duration::from_secs;
        assert_eq!(
            message.addresses,
            [
                (Ipv4Addr::new(192, 0, 2, 1).into(), seconds(300)),
                (Ipv6Addr::LOCALHOST.into(), seconds(70_000))
            ]
        );
        // Cut off anywhere, it is refused or read in part, and never more.
        for length in 0..bytes.len() {
            let cut = Message::parse(&bytes[..length]);
            assert!(cut.is_none_or(|cut| cut.addresses.len() <= 2));
        }
    }

    #[test]
    fn what_goes_round_in_circles_or_asks_twice_is_none() {
        let mut circle = question("a");
        circle.truncate(HEADER);
        circle.extend([0xc0, 12, 0, 1, 0, 1]);
        assert_eq!(Message::parse(&circle), None);
        let mut twice = question("a");
        twice[5] = 2;
        assert_eq!(Message::parse(&twice), None);
        assert_eq!(Message::parse(&[]), None);
    }

    #[test]
    fn letters_that_look_like_dots_are_told_from_them() {
        let mut bytes = question("");
        bytes.splice(HEADER..=HEADER, [3, b'a', b'.', b'b', 0]);
        assert_eq!(Message::parse(&bytes).expect("a message").question, "a\\046b");
    }

    #[test]
    fn a_refusal_answers_the_question() {
        let asked = question("evil.com");
        let answer = no_such_name(&asked);
        assert_eq!(answer[..6], [0x12, 0x34, 0x81, 0x83, 0, 1]);
        assert_eq!(answer[HEADER..], asked[HEADER..]);
        assert_eq!(failure(&asked)[3], 0x82);
        assert_eq!(no_such_name(b"ab").len(), HEADER);
    }
}
