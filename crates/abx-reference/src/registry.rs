//! Images in registries.

use std::fmt;

use crate::error::{Part, Reason};
use crate::selector::check_tag;
use crate::{Range, ReferenceError};

/// An image of a registry: `acr://host/ns/img[:tag][@sha256:…]`, or a range of its tags: `acr://host/ns/img:^1.2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Registry {
    scheme: Scheme,
    host: Option<String>,
    repository: String,
    tag: Option<Tag>,
    digest: Option<String>,
}

/// What follows the `:`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Tag {
    /// To the letter; `latest` is one like any other, as docker has it.
    Name(String),
    Range(Range),
}

/// How the reference was introduced; all three speak the same protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    Acr,
    Oci,
    Docker,
}

impl Scheme {
    const ALL: [Self; 3] = [Self::Acr, Self::Oci, Self::Docker];

    /// `acr`, `oci`, `docker`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acr => "acr",
            Self::Oci => "oci",
            Self::Docker => "docker",
        }
    }
}

impl Registry {
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Host and port; `None` for a short name (`docker://debian`), which belongs to the default registry.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// The path on that host, `ns/img`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag to the letter; `None` where there is none, or a range of them.
    pub fn tag(&self) -> Option<&str> {
        match &self.tag {
            Some(Tag::Name(tag)) => Some(tag),
            _ => None,
        }
    }

    /// The range of tags of which the highest is meant.
    pub fn range(&self) -> Option<&Range> {
        match &self.tag {
            Some(Tag::Range(range)) => Some(range),
            _ => None,
        }
    }

    /// `sha256:` and 64 digits.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// The same image at a digest: what cannot become another. The tag it was found under is kept.
    pub fn at(&self, tag: Option<&str>, digest: &str) -> Result<Self, ReferenceError> {
        let pinned = Self { tag: None, digest: None, ..self.clone() }.to_string();
        let tag = tag.map(|tag| format!(":{tag}")).unwrap_or_default();
        let text = format!("{pinned}{tag}@{digest}");
        match Self::recognise(&text) {
            Ok(Some(pinned)) => Ok(pinned),
            Ok(None) => Err(ReferenceError::new(&text, Reason::Missing(Part::Image))),
            Err(reason) => Err(ReferenceError::new(&text, reason)),
        }
    }

    /// The image's name as `docker pull` takes it: without the scheme. A range is none that docker knows.
    pub fn image(&self) -> String {
        let mut image = String::new();
        if let Some(host) = &self.host {
            image.push_str(host);
            image.push('/');
        }
        image.push_str(&self.repository);
        match &self.tag {
            Some(Tag::Name(tag)) => image.extend([":", tag]),
            Some(Tag::Range(range)) => image.extend([":".to_owned(), range.to_string()]),
            None => {}
        }
        if let Some(digest) = &self.digest {
            image.push('@');
            image.push_str(digest);
        }
        image
    }

    /// `None` where the text has no scheme of a registry; an unknown scheme is a fault.
    pub(crate) fn recognise(text: &str) -> Result<Option<Self>, Reason> {
        let Some((scheme, rest)) = text.split_once("://") else { return Ok(None) };
        let Some(scheme) = Scheme::ALL.into_iter().find(|known| known.as_str() == scheme) else {
            return Ok(None);
        };
        Self::parse(scheme, rest).map(Some)
    }

    fn parse(scheme: Scheme, text: &str) -> Result<Self, Reason> {
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(check_digest(digest)?)),
            None => (text, None),
        };
        let (host, path) = split_host(name);
        if host.is_none() && scheme == Scheme::Acr {
            return Err(Reason::Missing(Part::Host));
        }
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        let tag = tag.map(|tag| parse_tag(tag, digest.is_some())).transpose()?;
        if let Some(host) = host {
            check_host(host)?;
        }
        check_repository(repository)?;
        Ok(Self { scheme, host: host.map(str::to_owned), repository: repository.to_owned(), tag, digest })
    }
}

/// A digest beside a range would have nothing to say.
fn parse_tag(tag: &str, is_pinned: bool) -> Result<Tag, Reason> {
    if Range::looks_like_one(tag) && !is_pinned {
        return Range::parse(tag).map(Tag::Range);
    }
    check_tag(tag, Part::Tag)?;
    match tag.chars().find(|&letter| letter == '+') {
        Some(letter) => Err(Reason::Letter { part: Part::Tag, letter }),
        None => Ok(Tag::Name(tag.to_owned())),
    }
}

/// The first component is a host where it has a dot or a port, or is `localhost`: the rule docker has.
fn split_host(name: &str) -> (Option<&str>, &str) {
    match name.split_once('/') {
        Some((host, path)) if host == "localhost" || host.contains(['.', ':']) => (Some(host), path),
        _ => (None, name),
    }
}

fn check_host(host: &str) -> Result<(), Reason> {
    let shape = || Reason::Shape { part: Part::Host, text: host.to_owned() };
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    let port_is_sound = port
        .is_none_or(|port| port.bytes().all(|digit| digit.is_ascii_digit()) && port.parse::<u16>().is_ok());
    let label_is_sound = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'-')
    };
    if port_is_sound && name.split('.').all(label_is_sound) { Ok(()) } else { Err(shape()) }
}

fn check_repository(repository: &str) -> Result<(), Reason> {
    if repository.is_empty() {
        return Err(Reason::Missing(Part::Image));
    }
    let allowed = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || matches!(letter, '.' | '_' | '-' | '/')
    };
    if let Some(letter) = repository.chars().find(|&letter| !allowed(letter)) {
        return Err(Reason::Letter { part: Part::Image, letter });
    }
    let is_sound = |component: &str| {
        let edges = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        component.bytes().next().is_some_and(edges)
            && component.bytes().last().is_some_and(edges)
            && !component.contains("..")
            && !component.contains("___")
    };
    if repository.split('/').all(is_sound) && repository.len() <= 255 {
        Ok(())
    } else {
        Err(Reason::Shape { part: Part::Image, text: repository.to_owned() })
    }
}

fn check_digest(digest: &str) -> Result<String, Reason> {
    let is_hex = |letter: u8| letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter);
    match digest.strip_prefix("sha256:") {
        Some(hex) if hex.len() == 64 && hex.bytes().all(is_hex) => Ok(digest.to_owned()),
        _ => Err(Reason::Shape { part: Part::Digest, text: digest.to_owned() }),
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.image())
    }
}
