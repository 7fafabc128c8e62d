//! What fits a key.

/// What a key's value must look like.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// An http or https address without a password in it.
    Address,
    /// The same, or a file.
    AddressOrFile,
    /// `owner/repo`, or a folder.
    Repository,
    /// `host[:port]`.
    Host,
    /// `host[:port]/team`, which names of images are put below.
    Repositories,
    /// `true` or `false`.
    Flag,
    Whole {
        low: u64,
        high: u64,
        unit: Unit,
    },
    Decimal {
        low: f64,
        high: f64,
        what: &'static str,
    },
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    None,
    Seconds,
    Megabytes,
    Bytes,
}

/// A value that fits.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Flag(bool),
    Whole(u64),
    Decimal(f64),
}

impl Kind {
    /// Reads what a user wrote.
    ///
    /// # Errors
    /// What would have fitted.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let value = match self {
            Self::Address => is_address(text).then(|| Value::Text(text.to_owned())),
            Self::AddressOrFile => is_address_or_file(text).then(|| Value::Text(text.to_owned())),
            Self::Repository => is_repository(text).then(|| Value::Text(text.to_owned())),
            Self::Host => is_host(text).then(|| Value::Text(text.to_owned())),
            Self::Repositories => is_repositories(text).then(|| Value::Text(text.to_owned())),
            Self::Flag => flag(text).map(Value::Flag),
            Self::Whole { low, high, unit } => {
                amount(text, *unit).filter(|value| (low..=high).contains(&value)).map(Value::Whole)
            }
            Self::Decimal { low, high, .. } => {
                text.parse().ok().filter(|value| (low..=high).contains(&value)).map(Value::Decimal)
            }
        };
        value.ok_or_else(|| self.expects())
    }

    /// What fits, in words.
    pub fn expects(&self) -> String {
        match self {
            Self::Address => "an http or https address without a password in it".into(),
            Self::AddressOrFile => "an http or https address, or the path of a file".into(),
            Self::Repository => "`owner/repo`, or the path of a folder such as ./templates".into(),
            Self::Host => "a host such as `registry.example:5000`, without a scheme".into(),
            Self::Repositories => "a registry and a team, such as `registry.example/team`".into(),
            Self::Flag => "`true` or `false`".into(),
            Self::Whole { low, high, unit } => match unit {
                Unit::None => format!("a whole number from {low} to {high}"),
                Unit::Seconds => format!("seconds, or with a unit such as 10m, from {low} to {high}"),
                Unit::Megabytes => format!("MB, or with a unit such as 4GiB, from {low} to {high}"),
                Unit::Bytes => format!("bytes, or with a unit such as 256MiB, from {low} to {high}"),
            },
            Self::Decimal { low, high, what } => format!("{what}, from {low} to {high}"),
        }
    }
}

fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        is_host(authority) && is_printable(rest)
    })
}

fn is_address_or_file(text: &str) -> bool {
    is_address(text) || (!text.contains("://") && !text.is_empty() && is_printable(text))
}

fn is_repository(text: &str) -> bool {
    use abx_reference::Reference;
    matches!(Reference::parse(text), Ok(Reference::Github(_) | Reference::Local(_)))
}

/// What a name can be put behind, so that it is an image in a registry.
fn is_repositories(text: &str) -> bool {
    let place = ["acr://", "oci://", "docker://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let place = place.unwrap_or(text).trim_end_matches('/');
    let image = format!("acr://{place}/name");
    !place.is_empty() && !place.contains('@') && abx_reference::Reference::parse(&image).is_ok()
}

/// `host`, `host:port`, `[::1]:port`.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return false;
            }
            (address, if rest.is_empty() { None } else { Some(rest.strip_prefix(':').unwrap_or("")) })
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | ':');
    let named =
        !host.is_empty() && host.chars().all(letter) && host.starts_with(|c: char| c != '.' && c != '-');
    named && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

fn is_printable(text: &str) -> bool {
    !text.chars().any(|letter| letter.is_control())
}

fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// A whole number, with a unit where sizes are counted. 1 GB is 1024 MB, as everywhere here.
fn amount(text: &str, unit: Unit) -> Option<u64> {
    if let Ok(number) = text.replace('_', "").parse() {
        return Some(number);
    }
    let base: u64 = match unit {
        Unit::None => return None,
        Unit::Seconds => return seconds(text),
        Unit::Megabytes => 1 << 20,
        Unit::Bytes => 1,
    };
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, suffix) = text.split_at(end);
    let factor: u64 = match suffix.trim().to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return None,
    };
    let amount = number.parse::<f64>().ok()? * factor as f64 / base as f64;
    ((0.0..1e15).contains(&amount) && amount.fract() == 0.0).then_some(amount as u64)
}

/// `90s`, `10m`, `2h`, `7d`.
fn seconds(text: &str) -> Option<u64> {
    let (number, factor) = match text.char_indices().next_back()? {
        (end, 's') => (&text[..end], 1),
        (end, 'm') => (&text[..end], 60),
        (end, 'h') => (&text[..end], 3600),
        (end, 'd') => (&text[..end], 86_400),
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_and_what_does_not() {
        let bytes = Kind::Whole { low: 1, high: 1 << 40, unit: Unit::Bytes };
        let megabytes = Kind::Whole { low: 16, high: 1 << 20, unit: Unit::Megabytes };
        let seconds = Kind::Whole { low: 0, high: 1 << 20, unit: Unit::Seconds };
        let count = Kind::Whole { low: 1, high: 10, unit: Unit::None };
        let cores = Kind::Decimal { low: 0.1, high: 64.0, what: "cores" };
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        for (kind, written, expected) in [
            (&Kind::Address, "https://h.example/x", text("https://h.example/x")),
            (&Kind::Address, " http://127.0.0.1:80 ", text("http://127.0.0.1:80")),
            (&Kind::Address, "https://user:pw@h.example", None),
            (&Kind::Address, "ftp://h.example", None),
            (&Kind::Address, "h.example", None),
            (&Kind::Address, "https://", None),
            (&Kind::AddressOrFile, "./index.yaml", text("./index.yaml")),
            (&Kind::AddressOrFile, "ftp://h/x", None),
            (&Kind::AddressOrFile, "", None),
            (&Kind::Repository, "o/r", text("o/r")),
            (&Kind::Repository, "/srv/templates", text("/srv/templates")),
            (&Kind::Repository, "name", None),
            (&Kind::Host, "127.0.0.1:5000", text("127.0.0.1:5000")),
            (&Kind::Host, "[::1]:5000", text("[::1]:5000")),
            (&Kind::Host, "http://h", None),
            (&Kind::Host, "h:99999", None),
            (&Kind::Host, "h/x", None),
            (&Kind::Host, "", None),
            (&Kind::Repositories, "127.0.0.1:5000/team/a", text("127.0.0.1:5000/team/a")),
            (&Kind::Repositories, "acr://host.example/team/", text("acr://host.example/team/")),
            (&Kind::Repositories, "https://host.example/team", None),
            (&Kind::Repositories, "/", None),
            (&Kind::Repositories, "host.example/Team:tag", None),
            (&Kind::Flag, "yes", Some(Value::Flag(true))),
            (&Kind::Flag, "False", Some(Value::Flag(false))),
            (&Kind::Flag, "maybe", None),
            (&bytes, "256MiB", Some(Value::Whole(256 << 20))),
            (&bytes, "1.5 kb", Some(Value::Whole(1536))),
            (&bytes, "1000", Some(Value::Whole(1000))),
            (&bytes, "2T", None),
            (&bytes, "0", None),
            (&bytes, "-1", None),
            (&megabytes, "4GiB", Some(Value::Whole(4096))),
            (&megabytes, "4096", Some(Value::Whole(4096))),
            (&megabytes, "4KB", None),
            (&seconds, "0", Some(Value::Whole(0))),
            (&seconds, "2h", Some(Value::Whole(7200))),
            (&seconds, "2w", None),
            (&seconds, "1.5", None),
            (&count, "10", Some(Value::Whole(10))),
            (&count, "11", None),
            (&count, "1k", None),
            (&cores, "0.5", Some(Value::Decimal(0.5))),
            (&cores, "NaN", None),
            (&cores, "65", None),
        ] {
            assert_eq!(kind.read(written).ok(), expected, "{kind:?} of `{written}`");
        }
    }
}
