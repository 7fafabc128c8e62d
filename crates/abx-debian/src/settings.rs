//! What a bootstrap needs to know beside the release.

use std::path::PathBuf;
use std::time::Duration;

use abx_core::Home;
use abx_core::host::{DebianMirrors, HostNetwork};

use crate::release::ArchivePart;

/// How long a base system is reused without asking the archive whether it has changed.
pub const DEFAULT_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Where a bootstrap takes its packages from and where it puts them.
#[derive(Clone, Debug)]
pub struct BootstrapSettings {
    /// Holds the image store and the cache of packages.
    pub home: Home,
    /// Proxies, authorities and the Debian mirrors of this host; the latter come first.
    pub host: HostNetwork,
    /// The setting `debian_mirror`: a base address like `mirrors.aliyun.com/debian`, http where it names no
    /// scheme. Used where the host names none, and written into the image's apt sources always.
    pub default_mirror: String,
    /// Keyring files whose signatures count beside Debian's own: for an archive of one's own.
    pub keyrings: Vec<PathBuf>,
    /// Never leave this machine: use what is in the store or the cache, however old.
    pub offline: bool,
    /// A base system younger than this is reused without network; see [`DEFAULT_MAX_AGE`].
    pub max_age: Duration,
    /// The program that launches isolated processes (`abx` itself).
    pub helper: PathBuf,
}

impl BootstrapSettings {
    /// The mirrors to fetch from.
    pub(crate) fn mirrors(&self) -> Mirrors {
        match &self.host.debian {
            DebianMirrors { archive: Some(archive), security } => Mirrors {
                security: security.clone().unwrap_or_else(|| security_beside(archive)),
                archive: archive.clone(),
            },
            DebianMirrors { archive: None, .. } => self.public_mirrors(),
        }
    }

    /// The mirrors an image may name: never the host's.
    pub(crate) fn public_mirrors(&self) -> Mirrors {
        let mirror = self.default_mirror.trim_end_matches('/');
        let archive = if mirror.contains("://") { mirror.to_owned() } else { format!("http://{mirror}") };
        Mirrors { security: security_beside(&archive), archive }
    }
}

/// Base addresses of an archive and of the security archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirrors {
    pub(crate) archive: String,
    pub(crate) security: String,
}

impl Mirrors {
    /// The base address of one of the two archives.
    pub(crate) fn base(&self, part: ArchivePart) -> &str {
        match part {
            ArchivePart::Main => &self.archive,
            ArchivePart::Security => &self.security,
        }
    }
}

/// Mirrors keep the security archive beside the other one, as `debian-security`.
fn security_beside(archive: &str) -> String {
    format!("{archive}-security")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(archive: Option<&str>, security: Option<&str>) -> BootstrapSettings {
        let debian =
            DebianMirrors { archive: archive.map(str::to_owned), security: security.map(str::to_owned) };
        BootstrapSettings {
            home: Home::new("/nowhere"),
            host: HostNetwork { debian, ..HostNetwork::default() },
            default_mirror: "http://public.example/debian/".to_owned(),
            keyrings: Vec::new(),
            offline: false,
            max_age: DEFAULT_MAX_AGE,
            helper: PathBuf::new(),
        }
    }

    #[test]
    fn a_mirror_without_scheme_is_http() {
        let mut settings = settings(None, None);
        settings.default_mirror = "public.example/debian".to_owned();
        assert_eq!(settings.public_mirrors().archive, "http://public.example/debian");
        settings.default_mirror = "https://public.example/debian/".to_owned();
        assert_eq!(settings.public_mirrors().security, "https://public.example/debian-security");
    }

    #[test]
    fn the_host_comes_first() {
        for (archive, security, expect) in [
            (None, None, ("http://public.example/debian", "http://public.example/debian-security")),
            (Some("http://h/debian"), None, ("http://h/debian", "http://h/debian-security")),
            (Some("http://h/debian"), Some("http://s/sec"), ("http://h/debian", "http://s/sec")),
            (
                None,
                Some("http://s/sec"),
                ("http://public.example/debian", "http://public.example/debian-security"),
            ),
        ] {
            let mirrors = settings(archive, security).mirrors();
            assert_eq!((mirrors.archive.as_str(), mirrors.security.as_str()), expect);
        }
    }
}
