//! Names of images in registries.

use std::fmt;

use crate::{Digest, ImageError};

const HUB: &str = "docker.io";

/// A name as docker reads it: `debian`, `ns/image:tag`, `host:5000/image@sha256:…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryName {
    registry: String,
    repository: String,
    tag: String,
    digest: Option<Digest>,
}

impl RegistryName {
    /// Reads a name. Without a registry it is Docker Hub's, without a tag or digest `latest`.
    pub fn parse(text: &str) -> Result<Self, ImageError> {
        let fault = |reason| ImageError::Name { name: text.to_owned(), reason };
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => {
                (rest, Some(Digest::parse(digest).ok_or(fault("its digest is not sha256 in hex"))?))
            }
            None => (text, None),
        };
        // A colon before the last slash belongs to a port.
        let (path, tag) = match rest.rsplit_once(':') {
            Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
            _ => (rest, None),
        };
        let (registry, repository) = match path.split_once('/') {
            Some((host, repository)) if is_host(host) => (host, repository.to_owned()),
            Some(_) => (HUB, path.to_owned()),
            None => (HUB, path.to_owned()),
        };
        let registry =
            if matches!(registry, "index.docker.io" | "registry-1.docker.io") { HUB } else { registry };
        // Docker Hub has its own images in a place of their own, whether or not it is named.
        let is_hub_s_own = registry == HUB && !repository.contains('/');
        let repository = if is_hub_s_own { format!("library/{repository}") } else { repository };
        if !valid_host(registry) {
            return Err(fault("its registry is no host name"));
        }
        if !repository.split('/').all(valid_component) || repository.len() > 255 {
            return Err(fault("its path has lower-case letters, digits and single separators only"));
        }
        if !tag.is_none_or(valid_tag) {
            return Err(fault("its tag has letters, digits, `_`, `.` and `-` only, at most 128"));
        }
        let tag = tag.unwrap_or("latest").to_owned();
        Ok(Self { registry: registry.to_owned(), repository, tag, digest })
    }

    /// The registry's host, with its port where one was given; `docker.io` for Docker Hub.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path within the registry, `library/debian`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag, `latest` where none was given. The digest outranks it.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The digest, where the name is pinned to one.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The same repository with another tag, and no digest.
    pub fn tagged(&self, tag: &str) -> Result<Self, ImageError> {
        match valid_tag(tag) {
            true => Ok(Self { tag: tag.to_owned(), digest: None, ..self.clone() }),
            false => {
                let reason = "its tag has letters, digits, `_`, `.` and `-` only, at most 128";
                Err(ImageError::Name { name: format!("{}:{tag}", self.familiar_path()), reason })
            }
        }
    }

    /// As docker shows it: without Docker Hub's own parts, `debian:latest`. Always with a tag.
    pub fn familiar(&self) -> String {
        format!("{}:{}", self.familiar_path(), self.tag)
    }

    fn familiar_path(&self) -> String {
        match self.registry == HUB {
            true => self.repository.strip_prefix("library/").unwrap_or(&self.repository).to_owned(),
            false => format!("{}/{}", self.registry, self.repository),
        }
    }

    /// What to ask the registry for: the digest, else the tag.
    pub(super) fn wanted(&self) -> String {
        self.digest.as_ref().map_or_else(|| self.tag.clone(), Digest::to_string)
    }

    /// The host that answers for the registry.
    pub(super) fn api_host(&self) -> &str {
        if self.registry == HUB { "registry-1.docker.io" } else { &self.registry }
    }
}

/// The full form: `docker.io/library/debian:latest`.
impl fmt::Display for RegistryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => write!(f, ":{}", self.tag),
        }
    }
}

/// Docker's rule for the part before the first slash.
fn is_host(part: &str) -> bool {
    part == "localhost" || part.contains(['.', ':']) || part.contains(|c: char| c.is_ascii_uppercase())
}

fn valid_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let bracketed = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let name_ok = match bracketed {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => name.split('.').all(|label| {
            let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            !label.is_empty() && !label.starts_with('-') && label.bytes().all(is_sound)
        }),
    };
    name_ok && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

fn valid_component(component: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    edge(component.chars().next())
        && edge(component.chars().last())
        && component.chars().all(inner)
        && !component.contains("..")
}

fn valid_tag(tag: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=128).contains(&tag.len())
        && tag.starts_with(word)
        && tag.chars().all(|c| word(c) || c == '.' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_core::Fault;

    #[test]
    fn names_are_read_as_docker_reads_them() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let pinned = format!("host:5000/ns/img:tag@{digest}");
        for (text, full) in [
            ("debian", "docker.io/library/debian:latest"),
            ("debian:bookworm-slim", "docker.io/library/debian:bookworm-slim"),
            ("ns/image", "docker.io/ns/image:latest"),
            ("docker.io/debian:12", "docker.io/library/debian:12"),
            ("localhost/image", "localhost/image:latest"),
            ("127.0.0.1:5000/image:1", "127.0.0.1:5000/image:1"),
            ("[::1]:5000/a/b", "[::1]:5000/a/b:latest"),
            ("registry.example.com/a/b/c:v1", "registry.example.com/a/b/c:v1"),
            (&pinned, &format!("host:5000/ns/img@{digest}")),
        ] {
            assert_eq!(RegistryName::parse(text).expect(text).to_string(), full, "{text}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in [
            "",
            ":tag",
            "Debian",
            "a//b",
            "a/../b",
            "-a",
            "a:",
            "a:b:c",
            "a@sha256:12",
            "a b",
            "ho st.x/a",
            "a.b:x/y",
            "./a",
            "../a",
            "a..b/c",
            "-a.b/c",
        ] {
            let error = RegistryName::parse(text).expect_err(text);
            assert_eq!(error.code().as_str(), "E2005", "{text}");
        }
    }
}
