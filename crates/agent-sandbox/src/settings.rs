//! The user's settings.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::Error;

/// `~/.abx/config.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Debian archive for hosts whose own configuration names none.
    pub debian_mirror: String,
    /// Whether the host's mirrors, proxies and certificates reach build steps and sandboxes.
    pub host_network_config: bool,
    /// How many seconds a branch or tag on GitHub is believed to stand for the same commit.
    pub cache_ttl: u64,
    /// By registry host, `docker.io` for Docker Hub.
    pub registry: BTreeMap<String, Registry>,
}

/// How to reach one registry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Registry {
    /// `host[:port]` to ask first.
    pub mirror: Option<String>,
    /// Plain HTTP, or certificates that do not verify.
    pub insecure: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            debian_mirror: "https://mirrors.aliyun.com/debian".into(),
            host_network_config: true,
            cache_ttl: abx_source::github::CACHE_TTL.as_secs(),
            registry: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Reads `file`; a missing one means the defaults.
    ///
    /// # Errors
    /// E2004 with the place, for a file that does not parse or has unknown keys.
    pub fn load(file: Option<&Path>) -> Result<Self, Error> {
        let Some(file) = file else { return Ok(Self::default()) };
        match std::fs::read_to_string(file) {
            Ok(text) => toml::from_str(&text).map_err(|error| Error::settings(file, &text, &error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(Error::SettingsUnreadable { path: file.to_owned(), source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settings_file_is_read_and_a_wrong_key_is_shown_with_its_place() {
        let dir = tempfile::tempdir().expect("tempdir");
        let file = dir.path().join("config.toml");
        assert_eq!(Settings::load(Some(&file)).expect("absent"), Settings::default());
        std::fs::write(&file, "[registry.\"docker.io\"]\nmirror = \"127.0.0.1:5000\"\n").expect("write");
        let settings = Settings::load(Some(&file)).expect("valid");
        assert_eq!(settings.registry["docker.io"].mirror.as_deref(), Some("127.0.0.1:5000"));
        std::fs::write(&file, "host_network_config = true\ndebian_miror = \"x\"\n").expect("write");
        let error = Settings::load(Some(&file)).expect_err("unknown key");
        let snippet = &abx_core::Fault::snippets(&error)[0];
        assert_eq!((snippet.line, snippet.column), (2, 1));
    }
}
