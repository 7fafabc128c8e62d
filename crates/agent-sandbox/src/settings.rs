//! The user's settings: what can be set is one table, [`key`], which reading, checking, editing and listing go by.
//!
//! In reading order: [`Settings`] (the values), [`key`] (what there is to set), [`value`] (what fits), [`document`]
//! (`config.toml`), [`secrets`] (`.env`), [`folder`] (`~/.abx` on disk), [`error`].
//!
//! `docs/settings.md` tells users of every key; a test holds it to the table.
//!
//! A value comes from the environment (`ABX_CACHE_TTL` for `cache_ttl`), else from `config.toml`, else it is the default.

pub(crate) mod document;
pub mod error;
pub(crate) mod folder;
pub mod key;
pub mod secrets;
pub mod value;

use std::collections::BTreeMap;
use std::path::Path;

use abx_source::archive::Caps;
use abx_spec::{Bounds, limits};

pub use error::SettingsError;

/// What a user, or the operator of a machine, may set.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `owner/repo` or a folder that the names of tier 2 stand for.
    pub official_repo: String,
    /// The index that templates are searched in: an address or a file.
    pub template_index_url: String,
    /// `HOST/TEAM`: where `template push` puts what is given no destination.
    pub push_to: Option<String>,
    /// Base address of GitHub's API.
    pub github_api_url: String,
    /// How many seconds a branch or tag on GitHub is believed to stand for the same commit.
    pub cache_ttl: u64,
    /// Debian archive for hosts whose own configuration names none.
    pub debian_mirror: String,
    /// Whether the host's mirrors, proxies and certificates reach build steps and sandboxes.
    pub host_network_config: bool,
    /// How many seconds a sandbox may stay unhealthy until it ends; 0 for ever.
    pub unhealthy_timeout: u64,
    /// Caps of archives that are unpacked.
    pub archive: Archive,
    /// What a sandbox may ask for.
    pub limits: Limits,
    /// By registry host, `docker.io` for Docker Hub.
    pub registry: BTreeMap<String, Registry>,
}

/// Caps of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    pub entries: u64,
    /// Bytes as they are sent.
    pub compressed: u64,
    /// Bytes of all files.
    pub expanded: u64,
    /// Bytes of a path.
    pub path: u64,
    /// Bytes of one of its components.
    pub component: u64,
}

/// What the operator lets a sandbox ask for: cores, MB, seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    pub cpu_min: f64,
    pub cpu_max: f64,
    pub memory_min: u64,
    pub memory_max: u64,
    pub disk_min: u64,
    pub disk_max: u64,
    pub timeout_min: u64,
    pub timeout_max: u64,
}

/// How to reach one registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    /// `host[:port]` to ask first.
    pub mirror: Option<String>,
    /// Plain HTTP, or certificates that do not verify.
    pub insecure: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            official_repo: "alicloud/sandbox-templates".into(),
            template_index_url:
                "https://raw.githubusercontent.com/alibaba-agent-sandbox/awesome-templates/main/awesome-templates.yaml"
                    .into(),
            push_to: None,
            github_api_url: abx_source::github::PUBLIC_API.into(),
            cache_ttl: abx_source::github::CACHE_TTL.as_secs(),
            debian_mirror: "https://mirrors.aliyun.com/debian".into(),
            host_network_config: true,
            unhealthy_timeout: 300,
            archive: Archive::default(),
            limits: Limits::default(),
            registry: BTreeMap::new(),
        }
    }
}

impl Default for Archive {
    fn default() -> Self {
        let caps = Caps::default();
        Self {
            entries: caps.entries,
            compressed: caps.compressed,
            expanded: caps.expanded,
            path: caps.path as u64,
            component: caps.component as u64,
        }
    }
}

impl From<&Archive> for Caps {
    fn from(archive: &Archive) -> Self {
        let length = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        Self {
            entries: archive.entries,
            compressed: archive.compressed,
            expanded: archive.expanded,
            path: length(archive.path),
            component: length(archive.component),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu_min: *limits::CPU.start(),
            cpu_max: *limits::CPU.end(),
            memory_min: *limits::MEMORY.start(),
            memory_max: *limits::MEMORY.end(),
            disk_min: *limits::DISK.start(),
            disk_max: *limits::DISK.end(),
            timeout_min: *limits::TIMEOUT.start(),
            timeout_max: *limits::TIMEOUT.end(),
        }
    }
}

impl Limits {
    /// What a template may ask for.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            cpu: self.cpu_min..=self.cpu_max,
            memory: self.memory_min..=self.memory_max,
            disk: self.disk_min..=self.disk_max,
            timeout: self.timeout_min..=self.timeout_max,
        }
    }
}

impl Settings {
    /// Reads `file`, where a missing one means the defaults, and puts the variables that `var` knows over it.
    ///
    /// # Errors
    /// E2004 with the place or the variable, for what does not parse, is no key or does not fit.
    pub fn load(file: Option<&Path>, var: &dyn Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        if let Some(file) = file
            && let Some(text) = document::read(file)?
        {
            document::apply(&text, file, &mut settings)?;
        }
        for key in key::KEYS {
            if let Some((variable, text)) = key.variable_set(var) {
                let value = key
                    .kind
                    .read(&text)
                    .map_err(|expected| SettingsError::variable(&variable, &text, expected))?;
                key.put(&mut settings, "", value);
            }
        }
        settings.check()?;
        Ok(settings)
    }

    /// Pairs that only make sense together.
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let Limits { cpu_min, cpu_max, memory_min, memory_max, disk_min, disk_max, timeout_min, timeout_max } =
            self.limits;
        for (fits, low, high) in [
            (cpu_min <= cpu_max, "limits.cpu_min", "limits.cpu_max"),
            (memory_min <= memory_max, "limits.memory_min", "limits.memory_max"),
            (disk_min <= disk_max, "limits.disk_min", "limits.disk_max"),
            (timeout_min <= timeout_max, "limits.timeout_min", "limits.timeout_max"),
            (self.archive.component <= self.archive.path, "archive.component", "archive.path"),
        ] {
            if !fits {
                return Err(SettingsError::Order { low, high });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
