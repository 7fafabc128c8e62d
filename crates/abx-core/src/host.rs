//! The host's mirrors, proxies and certificates as values.
//!
//! They reach build steps and running sandboxes and are never stored in an image. The edge
//! (`agent_sandbox::host`) reads them from the host's configuration; everything below takes them as values.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How this host reaches package archives. `Default` means: nothing special.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostNetwork {
    /// PEM bundle of the authorities this host trusts.
    pub ca_bundle: Option<PathBuf>,
    /// `http_proxy`, `https_proxy`, `no_proxy`, … as lower-case names and values. May hold credentials:
    /// never log them.
    pub proxies: Vec<(String, String)>,
    /// Further variables that steer package tools: `PIP_INDEX_URL`, `UV_DEFAULT_INDEX`,
    /// `npm_config_registry`, …, taken from the host's own configuration of those tools.
    pub tool_env: Vec<(String, String)>,
    /// Debian archive mirrors in use on this host.
    pub debian: DebianMirrors,
}

/// Base addresses of a Debian archive and its security archive, without a trailing slash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebianMirrors {
    /// Like `https://mirrors.aliyun.com/debian`; `None` when the host has no apt configuration for Debian.
    pub archive: Option<String>,
    /// Like `https://mirrors.aliyun.com/debian-security`.
    pub security: Option<String>,
}
