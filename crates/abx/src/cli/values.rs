//! Values of options: their text form and what they mean.

use std::str::FromStr;

use abx_core::Fault;
use abx_core::egress::{Target, TargetError};
use agent_sandbox::template::{SecretPlace, SecretSource};
use clap::ValueEnum;

/// `K=V`. The key is not empty; the value may be, and may hold further `=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyValue {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromStr for KeyValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("", _)) => Err("the name before `=` is empty".into()),
            Some((key, value)) => Ok(Self { key: key.into(), value: value.into() }),
            None => Err(format!("`=` is missing; write {text}=VALUE")),
        }
    }
}

/// `K=JSON`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyJson {
    pub(crate) key: String,
    pub(crate) value: serde_json::Value,
}

impl FromStr for KeyJson {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let KeyValue { key, value } = text.parse()?;
        match serde_json::from_str(&value) {
            Ok(value) => Ok(Self { key, value }),
            Err(error) => Err(format!("the value of `{key}` is not JSON: {error}")),
        }
    }
}

/// `K=V`, or `K` for the value the variable of that name has; as of docker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuildArg {
    pub(crate) key: String,
    pub(crate) value: Option<String>,
}

impl FromStr for BuildArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (text, None),
        };
        match key {
            "" => Err("the name before `=` is empty".into()),
            key => Ok(Self { key: key.to_owned(), value }),
        }
    }
}

/// `id=NAME,src=FILE`, `id=NAME,env=VARIABLE`, or `id=NAME` for the variable of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretValue(pub(crate) SecretSource);

impl FromStr for SecretValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut id, mut place) = (None, None);
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}` has no `=`"))?;
            match key {
                "id" => id = Some(value.to_owned()),
                "src" | "source" => place = Some(SecretPlace::File(value.into())),
                "env" => place = Some(SecretPlace::Variable(value.to_owned())),
                // Said by the key of the place already.
                "type" if matches!(value, "file" | "env") => {}
                _ => return Err(format!("`{part}` means nothing here; write id=NAME,src=FILE")),
            }
        }
        let id = id.filter(|id| !id.is_empty()).ok_or("`id` is missing; write id=NAME,src=FILE")?;
        let place = place.unwrap_or_else(|| SecretPlace::Variable(id.clone()));
        Ok(Self(SecretSource { id, place }))
    }
}

/// `HOST:GUEST`, two ports; `0` as the host's asks for any free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortPair {
    pub(crate) host: Option<u16>,
    pub(crate) guest: u16,
}

impl FromStr for PortPair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((host, guest)) = text.split_once(':') else {
            return Err(format!("write HOST:GUEST, such as 8080:{text}"));
        };
        let host = if host == "0" { None } else { Some(parse_port(host)?) };
        Ok(Self { host, guest: parse_port(guest)? })
    }
}

fn parse_port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(format!("`{text}` is no port; ports are 1 to 65535")),
    }
}

/// An amount in MB (1024 × 1024 bytes), plain or with a unit: `512`, `512MB`, `4GiB`, `4g`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Megabytes(pub(crate) u64);

impl FromStr for Megabytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let split = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let factor = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "m" | "mb" | "mib" => 1,
            "g" | "gb" | "gib" => 1024,
            "t" | "tb" | "tib" => 1024 * 1024,
            _ => return Err("write a number of MB, or one with MiB, GiB or TiB".into()),
        };
        match number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)) {
            Some(megabytes) if megabytes > 0 => Ok(Self(megabytes)),
            _ => Err("write a whole number of MB above 0".into()),
        }
    }
}

/// A span of time in seconds: `30d`, `12h`, `90m`, `45s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Age(pub(crate) u64);

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a number with d, h, m or s, such as 30d".to_owned();
        let split = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(wrong)?;
        let factor = match text[split..].trim() {
            "s" => 1,
            "m" | "min" => 60,
            "h" => 3600,
            "d" => 86_400,
            "w" => 7 * 86_400,
            _ => return Err(wrong()),
        };
        let number = text[..split].parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        number.map(Self).ok_or_else(wrong)
    }
}

/// A number of cores, above 0.
pub(crate) fn parse_cpu(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(cores) if cores.is_finite() && cores > 0.0 => Ok(cores),
        _ => Err("write a number of cores above 0, such as 2 or 0.5".into()),
    }
}

/// What a rule for egress is about.
pub(crate) fn parse_target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|error: TargetError| {
        let hints: Vec<String> = error.hints();
        std::iter::once(error.to_string()).chain(hints).collect::<Vec<_>>().join("; ")
    })
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressMode {
    #[default]
    Auto,
    Plain,
}
