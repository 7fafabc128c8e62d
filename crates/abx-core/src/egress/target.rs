//! What a rule is about: `example.com`, `*.example.com`, `10.0.0.0/8`, `[2001:db8::1]:443`, `*`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Code, Fault};

/// A place, at one port or at all.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Target {
    pub place: Place,
    /// `None`: every port, and what has no ports.
    pub port: Option<u16>,
}

/// Where something goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// `*`
    Everything,
    /// All addresses that begin with the first `prefix` bits of this one; the other bits are 0.
    Net { address: IpAddr, prefix: u8 },
    /// This name alone, in lower case, without a dot at its end.
    Name(String),
    /// All names below this one at any depth, but not itself: `*.example.com`.
    Below(String),
}

/// A text that is no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("nothing is no target")]
    Empty,
    #[error("`{text}` is no port")]
    Port { text: String },
    #[error("`{text}` is no length of a network's prefix")]
    Prefix { text: String },
    #[error("`{text}` is no address")]
    Address { text: String },
    #[error("`{text}` has bits behind its prefix")]
    HostBits { text: String, meant: String },
    #[error("`{text}` is no host name")]
    Name { text: String, hint: &'static str },
    #[error("`{text}` is no rule")]
    Rule { text: String },
}

impl Place {
    /// Whether it leaves nothing out: `*`, `0.0.0.0/0`, `::/0`. Names are then none of its addresses alone.
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::Everything | Self::Net { prefix: 0, .. })
    }

    /// Whether a name, in any case, is one of its names.
    pub fn has_name(&self, name: &str) -> bool {
        let name = name.trim_end_matches('.');
        match self {
            Self::Everything | Self::Net { .. } => false,
            Self::Name(own) => name.eq_ignore_ascii_case(own),
            Self::Below(own) => {
                let begin = name.len().checked_sub(own.len());
                begin.filter(|begin| *begin > 1 && name.is_char_boundary(*begin)).is_some_and(|begin| {
                    name[..begin].ends_with('.') && name[begin..].eq_ignore_ascii_case(own)
                })
            }
        }
    }

    /// Whether an address is one of its own. The IPv4 address in an IPv6 one counts as what it is.
    pub fn has_address(&self, address: IpAddr) -> bool {
        match self {
            Self::Everything => true,
            Self::Net { address: own, prefix } => match (own, address.to_canonical()) {
                (IpAddr::V4(own), IpAddr::V4(other)) => kept4(other, *prefix) == *own,
                (IpAddr::V6(own), IpAddr::V6(other)) => kept6(other, *prefix) == *own,
                _ => false,
            },
            Self::Name(_) | Self::Below(_) => false,
        }
    }
}

fn kept4(address: Ipv4Addr, prefix: u8) -> Ipv4Addr {
    Ipv4Addr::from_bits(address.to_bits() & u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0))
}

fn kept6(address: Ipv6Addr, prefix: u8) -> Ipv6Addr {
    Ipv6Addr::from_bits(address.to_bits() & u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0))
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let text = text.trim();
        // An address of IPv6 has colons of its own.
        if text.parse::<Ipv6Addr>().is_ok() || (text.contains("::") && !text.starts_with('[')) {
            return Ok(Self { place: place(text)?, port: None });
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (inside, behind) =
                rest.split_once(']').ok_or_else(|| TargetError::Address { text: text.into() })?;
            let port = match behind.strip_prefix(':') {
                Some(behind) => Some(port(behind)?),
                None if behind.is_empty() => None,
                None => return Err(TargetError::Port { text: behind.into() }),
            };
            return Ok(Self { place: place(inside)?, port });
        }
        match text.rsplit_once(':') {
            // What is wrong with an address of the web is no port.
            Some((_, behind)) if behind.contains('/') => Ok(Self { place: named(text)?, port: None }),
            Some((before, behind)) => Ok(Self { place: place(before)?, port: Some(port(behind)?) }),
            None => Ok(Self { place: place(text)?, port: None }),
        }
    }
}

fn port(text: &str) -> Result<u16, TargetError> {
    text.parse().ok().filter(|port| *port > 0).ok_or_else(|| TargetError::Port { text: text.to_owned() })
}

fn place(text: &str) -> Result<Place, TargetError> {
    if text.is_empty() {
        return Err(TargetError::Empty);
    }
    if text == "*" {
        return Ok(Place::Everything);
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        let prefix = if address.is_ipv4() { 32 } else { 128 };
        return Ok(Place::Net { address, prefix });
    }
    match text.split_once('/') {
        Some((address, prefix)) if !address.contains("//") && !prefix.starts_with('/') => {
            net(text, address, prefix)
        }
        _ => named(text),
    }
}

fn net(text: &str, address: &str, prefix: &str) -> Result<Place, TargetError> {
    let Ok(address) = address.parse::<IpAddr>() else { return named(text) };
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix
        .parse::<u8>()
        .ok()
        .filter(|prefix| *prefix <= longest)
        .ok_or_else(|| TargetError::Prefix { text: prefix.to_owned() })?;
    let kept = match address {
        IpAddr::V4(address) => IpAddr::V4(kept4(address, prefix)),
        IpAddr::V6(address) => IpAddr::V6(kept6(address, prefix)),
    };
    if kept != address {
        return Err(TargetError::HostBits { text: text.to_owned(), meant: format!("{kept}/{prefix}") });
    }
    Ok(Place::Net { address, prefix })
}

fn named(text: &str) -> Result<Place, TargetError> {
    let wrong = |hint| Err(TargetError::Name { text: text.to_owned(), hint });
    if text.contains('/') {
        return wrong("write the host alone, without `https://` and without a path");
    }
    if !text.is_ascii() {
        return wrong("write it in its ASCII form, which begins with `xn--`");
    }
    let name = text.trim_end_matches('.').to_ascii_lowercase();
    let (name, is_below) = match name.strip_prefix("*.") {
        Some(name) => (name.to_owned(), true),
        None => (name, false),
    };
    if name.contains('*') {
        return wrong("a `*` stands for all names below one, at the beginning: `*.example.com`");
    }
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_'))
    };
    if name.is_empty() || name.len() > 253 || !name.split('.').all(is_label) {
        return wrong(
            "a target is `*`, an address, a network (`10.0.0.0/8`) or a name (`example.com`, `*.example.com`), each with `:PORT` where only that port is meant",
        );
    }
    if name.rsplit('.').next().is_some_and(|last| last.bytes().all(|letter| letter.is_ascii_digit())) {
        return Err(TargetError::Address { text: text.to_owned() });
    }
    Ok(if is_below { Place::Below(name) } else { Place::Name(name) })
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("*"),
            Self::Net { address: IpAddr::V4(address), prefix: 32 } => write!(f, "{address}"),
            Self::Net { address: IpAddr::V6(address), prefix: 128 } => write!(f, "{address}"),
            Self::Net { address, prefix } => write!(f, "{address}/{prefix}"),
            Self::Name(name) => f.write_str(name),
            Self::Below(name) => write!(f, "*.{name}"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, self.port) {
            (place, None) => write!(f, "{place}"),
            (place @ Place::Net { address: IpAddr::V6(_), .. }, Some(port)) => write!(f, "[{place}]:{port}"),
            (place, Some(port)) => write!(f, "{place}:{port}"),
        }
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

impl TryFrom<String> for Target {
    type Error = TargetError;

    fn try_from(text: String) -> Result<Self, TargetError> {
        text.parse()
    }
}

impl Fault for TargetError {
    fn code(&self) -> Code {
        Code::SpecInvalid
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Name { hint, .. } => vec![(*hint).to_owned()],
            Self::HostBits { meant, .. } => vec![format!("did you mean `{meant}`?")],
            Self::Port { .. } => vec![
                "ports are 1 to 65535; an IPv6 address with a port stands in brackets: `[2001:db8::1]:443`"
                    .to_owned(),
            ],
            _ => Vec::new(),
        }
    }
}
