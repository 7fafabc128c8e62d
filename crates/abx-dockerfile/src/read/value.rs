//! Values that are checked where they are known: while reading, or after expansion.

use crate::problem::Problem;
use crate::syntax::Keyword;

/// Why a value is refused. Boxed, because it is rare and large.
pub(crate) type Refused = Box<Problem>;

pub(crate) fn malformed(what: &'static str, text: &str, hint: &'static str) -> Refused {
    Box::new(Problem::Malformed { what, text: text.to_owned(), hint })
}

pub(crate) fn filled(text: &str, keyword: Keyword, what: &'static str) -> Result<(), Refused> {
    if text.is_empty() { Err(Box::new(Problem::Blank { keyword, what })) } else { Ok(()) }
}

/// The name of a variable or label. Anything without `=` goes, as it does everywhere.
pub(crate) fn name(text: &str, keyword: Keyword) -> Result<(), Refused> {
    if text.is_empty() { Err(Box::new(Problem::NoName { keyword })) } else { Ok(()) }
}

/// One port or several in a row.
#[derive(Debug)]
pub(crate) struct Ports {
    first: u16,
    last: u16,
    protocol: String,
}

impl Ports {
    /// Reads `80`, `80/tcp`, `8000-8010/udp`. Of `8080:80` the port inside counts.
    pub(crate) fn read(text: &str) -> Result<Self, Refused> {
        let refuse = |hint| Err(malformed("port", text, hint));
        let (range, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
        let protocol = protocol.to_ascii_lowercase();
        if !matches!(protocol.as_str(), "tcp" | "udp" | "sctp") {
            return refuse("the protocols are `tcp`, `udp` and `sctp`");
        }
        let range = range.rsplit(':').next().unwrap_or(range);
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Some(first), Some(last)) = (port(first), port(last)) else {
            return refuse("a port is a number from 1 to 65535, or two with `-` between");
        };
        if first > last {
            return refuse("a range begins with the smaller number");
        }
        Ok(Self { first, last, protocol })
    }

    pub(crate) fn count(&self) -> usize {
        usize::from(self.last - self.first) + 1
    }

    /// `80/tcp`, one a port.
    pub(crate) fn each(&self) -> impl Iterator<Item = String> {
        (self.first..=self.last).map(|port| format!("{port}/{}", self.protocol))
    }
}

fn port(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port > 0)
}

/// `SIGTERM`, `TERM`, `15`, `SIGRTMIN+3`.
pub(crate) fn signal(text: &str) -> Result<(), Refused> {
    const NAMES: [&str; 37] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "IOT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "POLL", "PWR", "SYS", "UNUSED", "RTMIN", "RTMAX",
    ];
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let is_number = |text: &str, range: std::ops::RangeInclusive<u8>| {
        text.bytes().all(|digit| digit.is_ascii_digit())
            && text.parse().is_ok_and(|number| range.contains(&number))
    };
    let is_realtime = name.strip_prefix("RTMIN+").is_some_and(|rest| is_number(rest, 1..=30))
        || name.strip_prefix("RTMAX-").is_some_and(|rest| is_number(rest, 1..=30));
    if NAMES.contains(&name) || is_realtime || is_number(text, 1..=64) {
        return Ok(());
    }
    Err(malformed("signal", text, "write a name such as `SIGTERM`, or a number from 1 to 64"))
}

/// An octal mode, or changes such as `u+x,go-w`.
pub(crate) fn mode(text: &str) -> Result<(), Refused> {
    if octal(text).is_some() || (!text.is_empty() && text.split(',').all(is_change)) {
        return Ok(());
    }
    Err(malformed("file mode", text, "write it as `755` or `u=rwx,go=rx`"))
}

/// `755`, `0755`, `1777`.
pub(crate) fn octal(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    u32::from_str_radix(text, 8).ok().filter(|mode| digits && *mode <= 0o7777)
}

fn is_change(text: &str) -> bool {
    let rest = text.trim_start_matches(['u', 'g', 'o', 'a']);
    let mut parts = rest.split_inclusive(['+', '-', '=']);
    // What stands before the first operator is the operator alone; after it each part is letters, and the
    // next operator where there is one.
    parts.next().is_some_and(|first| matches!(first, "+" | "-" | "="))
        && parts.all(|part| {
            let letters = part.trim_end_matches(['+', '-', '=']);
            let is_copy = matches!(letters, "u" | "g" | "o");
            is_copy || letters.chars().all(|letter| "rwxXst".contains(letter))
        })
}

/// `user`, `user:group`, `1000:1000`.
pub(crate) fn owner(text: &str) -> Result<(), Refused> {
    let (_, group) = text.split_once(':').unwrap_or((text, "root"));
    if text.is_empty() || group.is_empty() || group.contains(':') {
        return Err(malformed("owner", text, "write it as `user`, `user:group` or `1000:1000`"));
    }
    Ok(())
}

pub(crate) fn checksum(text: &str) -> Result<(), Refused> {
    let is_digest = text.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64 && hex.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    });
    if is_digest {
        return Ok(());
    }
    Err(malformed("checksum", text, "write `sha256:` and 64 hexadecimal digits"))
}

/// `linux`, `linux/amd64`, `linux/arm/v7`.
pub(crate) fn platform(text: &str) -> Result<(), Refused> {
    let parts: Vec<_> = text.split('/').collect();
    let is_word = |word: &&str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.()".contains(&byte))
    };
    if parts.len() <= 3 && parts.iter().all(is_word) {
        return Ok(());
    }
    Err(malformed("platform", text, "write it as `linux/amd64`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_ranges() {
        let rows: [(&str, &[&str]); 3] =
            [("80", &["80/tcp"]), ("53/UDP", &["53/udp"]), ("1-3/sctp", &["1/sctp", "2/sctp", "3/sctp"])];
        for (text, expected) in rows {
            assert_eq!(Ports::read(text).unwrap().each().collect::<Vec<_>>(), expected);
        }
        for bad in ["", "0", "65536", "3-1", "80/http", "8080:", "a", "+80", "1-", "-1"] {
            assert!(Ports::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn signals_modes_and_the_like() {
        type Check = fn(&str) -> Result<(), Refused>;
        let rows: [(Check, &[&str], &[&str]); 5] = [
            (signal, &["SIGTERM", "term", "9", "SIGRTMIN+3"], &["SIGNOPE", "0", "65", "", "RTMIN+99", "+9"]),
            (
                mode,
                &["755", "0644", "1777", "u+x", "u=rwx,go=rx", "+X", "a-w", "g=u", "u+r-w"],
                &["", "888", "99999", "u", "rwx", "u+q", "u+x,", "17777"],
            ),
            (owner, &["a", "a:b", "0:0", ":b"], &["", "a:", ":", "a:b:c"]),
            (
                checksum,
                &["sha256:0000000000000000000000000000000000000000000000000000000000000000"],
                &["", "sha256:00", "md5:00"],
            ),
            (platform, &["linux", "linux/amd64", "linux/arm/v7"], &["", "linux/", "a/b/c/d", "a b"]),
        ];
        for (check, good, bad) in rows {
            for text in good {
                assert!(check(text).is_ok(), "{text}");
            }
            for text in bad {
                assert!(check(text).is_err(), "{text}");
            }
        }
    }
}
