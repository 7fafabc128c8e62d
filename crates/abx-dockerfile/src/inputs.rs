//! What the caller of a build gives, and the arguments everybody has.

use std::collections::{BTreeMap, BTreeSet};

use crate::instruction::Action;
use crate::parse::Dockerfile;

/// Arguments for proxies: a step sees those that are given without any `ARG`, and they are no part of what
/// makes the image.
pub const PROXIES: [&str; 10] = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "FTP_PROXY",
    "ftp_proxy",
    "NO_PROXY",
    "no_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// What an image is for, `linux/amd64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    pub os: String,
    /// `amd64`, `arm64`, … as OCI spells them.
    pub architecture: String,
    /// `v7`; empty for none.
    pub variant: String,
}

impl Platform {
    /// Reads `linux/arm/v7`; an architecture in another spelling (`x86_64`, `aarch64`) is understood, and Linux
    /// where no system is named. `None` where there is no architecture.
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let mut parts = lower.split('/');
        let first = parts.next().filter(|first| !first.is_empty())?;
        let (os, architecture) = match parts.next() {
            Some(architecture) => (first, architecture),
            None => ("linux", first),
        };
        let variant = parts.next().unwrap_or_default();
        let (architecture, variant) = match (architecture, variant) {
            ("" | "linux", _) => return None,
            ("x86_64" | "x86-64", variant) => ("amd64", variant),
            ("aarch64" | "arm64", "" | "v8" | "8") => ("arm64", ""),
            ("armhf", "") | ("arm", "") => ("arm", "v7"),
            ("i386" | "i686", variant) => ("386", variant),
            other => other,
        };
        if parts.next().is_some() {
            return None;
        }
        Some(Self { os: os.to_owned(), architecture: architecture.to_owned(), variant: variant.to_owned() })
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        if self.variant.is_empty() { Ok(()) } else { write!(f, "/{}", self.variant) }
    }
}

/// What the caller of a build gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// `--build-arg`.
    pub arguments: BTreeMap<String, String>,
    /// Where the build runs.
    pub build: Platform,
    /// What the image is for.
    pub target: Platform,
}

impl Inputs {
    /// The arguments there are before any `ARG`: `TARGETARCH` and its kin. A build argument of that name wins.
    pub(crate) fn predefined(&self) -> impl Iterator<Item = (&'static str, String)> {
        let (build, target) = (&self.build, &self.target);
        let known = [
            ("BUILDPLATFORM", build.to_string()),
            ("BUILDOS", build.os.clone()),
            ("BUILDARCH", build.architecture.clone()),
            ("BUILDVARIANT", build.variant.clone()),
            ("TARGETPLATFORM", target.to_string()),
            ("TARGETOS", target.os.clone()),
            ("TARGETARCH", target.architecture.clone()),
            ("TARGETVARIANT", target.variant.clone()),
        ];
        known.into_iter().map(|(name, value)| (name, self.arguments.get(name).cloned().unwrap_or(value)))
    }

    /// The proxies the caller gave, for the environment of each `RUN`.
    pub fn proxies(&self) -> impl Iterator<Item = (&str, &str)> {
        let given = self.arguments.iter().map(|(name, value)| (&**name, &**value));
        given.filter(|(name, _)| PROXIES.contains(name))
    }

    /// The build arguments no `ARG` of the file asks for: most likely misspelt.
    pub fn unused(&self, dockerfile: &Dockerfile) -> Vec<&str> {
        let actions = dockerfile.stages.iter().flat_map(|stage| &stage.instructions);
        let local = actions.filter_map(|instruction| match &instruction.action {
            Action::Arg(arguments) => Some(arguments),
            _ => None,
        });
        let declared: BTreeSet<&str> =
            local.flatten().chain(&dockerfile.arguments).map(|argument| &*argument.name.text).collect();
        let predefined: BTreeSet<&str> = self.predefined().map(|(name, _)| name).collect();
        let is_unused = |name: &&str| {
            let is_known = PROXIES.contains(name) || predefined.contains(name);
            // Switches of docker's own builder, which people pass along.
            let is_switch = name.starts_with("BUILDKIT_") || *name == "SOURCE_DATE_EPOCH";
            !declared.contains(name) && !is_known && !is_switch
        };
        self.arguments.keys().map(|name| &**name).filter(is_unused).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Platform;

    #[test]
    fn platforms() {
        let rows = [
            ("linux/amd64", Some("linux/amd64")),
            ("amd64", Some("linux/amd64")),
            ("Linux/x86_64", Some("linux/amd64")),
            ("linux/arm64/v8", Some("linux/arm64")),
            ("aarch64", Some("linux/arm64")),
            ("linux/arm", Some("linux/arm/v7")),
            ("linux/arm/v6", Some("linux/arm/v6")),
            ("linux", None),
            ("", None),
            ("/", None),
            ("a/b/c/d", None),
        ];
        for (text, expected) in rows {
            assert_eq!(
                Platform::parse(text).map(|platform| platform.to_string()).as_deref(),
                expected,
                "{text}"
            );
        }
    }
}
