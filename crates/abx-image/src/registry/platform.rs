//! Which of several images to take.

use std::fmt;

/// Operating system and processor, as OCI spells them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    pub os: String,
    pub architecture: String,
    /// `v8`, `v7`; `None` takes any.
    pub variant: Option<String>,
}

impl Platform {
    /// This machine's.
    pub fn host() -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
            other => other,
        };
        Self { os: "linux".to_owned(), architecture: architecture.to_owned(), variant: None }
    }

    /// Reads `linux/arm64` or `linux/arm/v7`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/').map(str::to_owned);
        let platform = Self { os: parts.next()?, architecture: parts.next()?, variant: parts.next() };
        let whole = parts.next().is_none() && !platform.os.is_empty() && !platform.architecture.is_empty();
        whole.then_some(platform)
    }

    /// Whether an image for `other` runs here.
    pub(crate) fn takes(&self, other: &Self) -> bool {
        self.os == other.os
            && self.architecture == other.architecture
            && (self.variant.is_none() || other.variant.is_none() || self.variant == other.variant)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_match_with_or_without_variant() {
        let platform = |text| Platform::parse(text).expect(text);
        assert!(platform("linux/arm64").takes(&platform("linux/arm64/v8")));
        assert!(platform("linux/arm/v7").takes(&platform("linux/arm/v7")));
        assert!(!platform("linux/arm/v7").takes(&platform("linux/arm/v6")));
        assert!(!platform("linux/amd64").takes(&platform("windows/amd64")));
        assert_eq!(platform("linux/arm/v7").to_string(), "linux/arm/v7");
        for text in ["linux", "", "linux/", "a/b/c/d"] {
            assert_eq!(Platform::parse(text), None, "{text}");
        }
    }
}
