//! What there is to set: each key once, with its type, its place in [`Settings`] and a line of help.

use std::ops::RangeInclusive;

use abx_spec::Bounds;

use super::Settings;
use super::value::{Kind, Unit, Value};

/// Something that can be set.
#[derive(Debug)]
pub struct Key {
    /// Dotted; `HOST` stands for a registry's host.
    pub name: &'static str,
    pub kind: Kind,
    /// One line, without a full stop.
    pub help: &'static str,
    slot: for<'s> fn(&'s mut Settings, &str) -> Slot<'s>,
}

/// Where a value of a setting is kept.
enum Slot<'s> {
    Text(&'s mut String),
    Maybe(&'s mut Option<String>),
    Flag(&'s mut bool),
    Whole(&'s mut u64),
    Decimal(&'s mut f64),
}

/// The section of registries.
const REGISTRY: &str = "registry";

const fn whole(low: u64, high: u64, unit: Unit) -> Kind {
    Kind::Whole { low, high, unit }
}

const fn within(range: &RangeInclusive<u64>, unit: Unit) -> Kind {
    whole(*range.start(), *range.end(), unit)
}

const CORES: Kind =
    Kind::Decimal { low: *Bounds::WIDEST.cpu.start(), high: *Bounds::WIDEST.cpu.end(), what: "cores" };
const MEMORY: Kind = within(&Bounds::WIDEST.memory, Unit::Megabytes);
const DISK: Kind = within(&Bounds::WIDEST.disk, Unit::Megabytes);
const TIMEOUT: Kind = within(&Bounds::WIDEST.timeout, Unit::Seconds);
const YEAR: u64 = 365 * 24 * 3600;

macro_rules! keys {
    ($($name:literal, $kind:expr, $slot:ident($settings:ident, $host:ident) $place:expr, $help:literal;)*) => {
        &[$(Key { name: $name, kind: $kind, help: $help, slot: |$settings, $host| Slot::$slot($place) }),*]
    };
}

/// All of them, in the order they are listed.
pub static KEYS: &[Key] = keys! {
    "official_repo", Kind::Repository, Text(s, _host) &mut s.official_repo,
        "repository or folder of the official templates";
    "template_index_url", Kind::AddressOrFile, Text(s, _host) &mut s.template_index_url,
        "index that `template search` and `install` look in";
    "push_to", Kind::Repositories, Maybe(s, _host) &mut s.push_to,
        "registry and team, HOST/TEAM, that `template push` puts templates in";
    "github_api_url", Kind::Address, Text(s, _host) &mut s.github_api_url,
        "base address of GitHub's API, such as https://HOST/api/v3";
    "cache_ttl", whole(0, YEAR, Unit::Seconds), Whole(s, _host) &mut s.cache_ttl,
        "how long a branch or tag is believed to stand for the same commit";
    "debian_mirror", Kind::Address, Text(s, _host) &mut s.debian_mirror,
        "Debian archive for hosts whose own configuration names none";
    "host_network_config", Kind::Flag, Flag(s, _host) &mut s.host_network_config,
        "whether the host's mirrors, proxies and certificates reach builds and sandboxes";
    "unhealthy_timeout", whole(0, YEAR, Unit::Seconds), Whole(s, _host) &mut s.unhealthy_timeout,
        "how long a sandbox may stay unhealthy until it ends; 0 for ever";
    "archive.entries", whole(1, 100_000_000, Unit::None), Whole(s, _host) &mut s.archive.entries,
        "most entries of an archive";
    "archive.compressed", whole(1 << 10, 1 << 40, Unit::Bytes), Whole(s, _host) &mut s.archive.compressed,
        "most bytes of an archive as it is sent";
    "archive.expanded", whole(1 << 10, 1 << 44, Unit::Bytes), Whole(s, _host) &mut s.archive.expanded,
        "most bytes of an archive's files";
    "archive.path", whole(1, 4096, Unit::Bytes), Whole(s, _host) &mut s.archive.path,
        "most bytes of a path in an archive";
    "archive.component", whole(1, 255, Unit::Bytes), Whole(s, _host) &mut s.archive.component,
        "most bytes of one name in such a path";
    "limits.cpu_min", CORES, Decimal(s, _host) &mut s.limits.cpu_min, "fewest cores of a sandbox";
    "limits.cpu_max", CORES, Decimal(s, _host) &mut s.limits.cpu_max, "most cores of a sandbox";
    "limits.memory_min", MEMORY, Whole(s, _host) &mut s.limits.memory_min, "least memory of a sandbox";
    "limits.memory_max", MEMORY, Whole(s, _host) &mut s.limits.memory_max, "most memory of a sandbox";
    "limits.disk_min", DISK, Whole(s, _host) &mut s.limits.disk_min, "smallest disk of a sandbox";
    "limits.disk_max", DISK, Whole(s, _host) &mut s.limits.disk_max, "largest disk of a sandbox";
    "limits.timeout_min", TIMEOUT, Whole(s, _host) &mut s.limits.timeout_min, "shortest life of a sandbox";
    "limits.timeout_max", TIMEOUT, Whole(s, _host) &mut s.limits.timeout_max, "longest life of a sandbox; where it is set lower, none lives for ever";
    "registry.HOST.mirror", Kind::Host, Maybe(s, host)
        &mut s.registry.entry(host.to_owned()).or_default().mirror,
        "registry to ask before HOST";
    "registry.HOST.insecure", Kind::Flag, Flag(s, host)
        &mut s.registry.entry(host.to_owned()).or_default().insecure,
        "whether HOST speaks plain HTTP or has a certificate that does not verify";
};

/// A key, and the registry's host where it is of one.
#[derive(Clone, Debug)]
pub struct Named {
    pub key: &'static Key,
    pub host: String,
}

impl Named {
    /// The key that a path in `config.toml` leads to.
    pub(crate) fn at(path: &[String]) -> Option<Self> {
        let (pattern, host) = match path {
            [section, host, leaf] if section == REGISTRY && Kind::Host.read(host).is_ok() => {
                (format!("{REGISTRY}.HOST.{leaf}"), host.clone())
            }
            path => (path.join("."), String::new()),
        };
        let is_registry = !host.is_empty();
        let found = KEYS.iter().find(|key| key.name == pattern && key.is_of_registry() == is_registry);
        found.map(|key| Self { key, host })
    }

    /// The key a user writes: `cache_ttl`, `registry."docker.io".mirror`, without the quotes too.
    pub fn parse(text: &str) -> Option<Self> {
        Self::at(&path(text))
    }

    /// Where it stands in `config.toml`.
    pub(crate) fn path(&self) -> Vec<String> {
        self.key.name.split('.').map(|part| self.filled(part)).collect()
    }

    fn filled(&self, part: &str) -> String {
        if part == "HOST" && self.key.is_of_registry() { self.host.clone() } else { part.to_owned() }
    }

    /// The value it has in `settings`, as a user would write it; `None` where it has none.
    pub fn value(&self, settings: &Settings) -> Option<String> {
        self.key.value(settings, &self.host)
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.key.is_of_registry() {
            true => f.write_str(&self.key.name.replace("HOST", &format!("\"{}\"", self.host))),
            false => f.write_str(self.key.name),
        }
    }
}

/// The parts of a dotted name; what stands between `registry.` and the last dot is one host, quoted or not.
pub(crate) fn path(text: &str) -> Vec<String> {
    if let Some((section, rest)) = text.split_once('.')
        && section == REGISTRY
        && let Some((host, leaf)) = rest.rsplit_once('.')
    {
        let host = host.trim_matches(['"', '\'']).to_ascii_lowercase();
        return vec![section.to_owned(), host, leaf.to_owned()];
    }
    text.split('.').map(str::to_owned).collect()
}

impl Key {
    /// Whether there is one for each registry.
    pub fn is_of_registry(&self) -> bool {
        self.name.starts_with("registry.HOST.")
    }

    /// The variable that goes before the file; keys of registries have none.
    pub fn variable(&self) -> Option<String> {
        let name = || format!("ABX_{}", self.name.replace('.', "_").to_ascii_uppercase());
        (!self.is_of_registry()).then(name)
    }

    /// Its variable and what that is set to; blank means not set.
    pub(crate) fn variable_set(&self, var: &dyn Fn(&str) -> Option<String>) -> Option<(String, String)> {
        let variable = self.variable()?;
        let value = var(&variable).filter(|value| !value.trim().is_empty())?;
        Some((variable, value))
    }

    pub(crate) fn put(&self, settings: &mut Settings, host: &str, value: Value) {
        match ((self.slot)(settings, host), value) {
            (Slot::Text(slot), Value::Text(value)) => *slot = value,
            (Slot::Maybe(slot), Value::Text(value)) => *slot = Some(value),
            (Slot::Flag(slot), Value::Flag(value)) => *slot = value,
            (Slot::Whole(slot), Value::Whole(value)) => *slot = value,
            (Slot::Decimal(slot), Value::Decimal(value)) => *slot = value,
            // The kind of a key and its slot are stated in one row; a test goes over all of them.
            _ => debug_assert!(false, "{}: kind and slot differ", self.name),
        }
    }

    fn value(&self, settings: &Settings, host: &str) -> Option<String> {
        Some(match (self.slot)(&mut settings.clone(), host) {
            Slot::Text(value) => value.clone(),
            Slot::Maybe(value) => return value.clone(),
            Slot::Flag(value) => value.to_string(),
            Slot::Whole(value) => value.to_string(),
            Slot::Decimal(value) => value.to_string(),
        })
    }
}
