//! Text → a lock. Strict: what this program would not write is refused, with its place.

use std::ops::Range;

use abx_core::Snippet;
use abx_core::fault::one_line;
use serde::Deserialize;
use toml::Spanned;

use super::{HERE, Lock, LockError, LockedArchive, LockedBase, LockedKind, LockedTemplate, VERSION};

#[derive(Deserialize)]
struct Head {
    version: Spanned<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "version")]
    _version: i64,
    #[serde(default)]
    template: Vec<Spanned<Template>>,
    base: Option<Spanned<Base>>,
    #[serde(default)]
    image: Vec<Spanned<Base>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Template {
    reference: Spanned<String>,
    kind: Spanned<String>,
    name: Option<Spanned<String>>,
    tag: Option<Spanned<String>>,
    source: Option<Spanned<String>>,
    commit: Option<Spanned<String>>,
    digest: Option<Spanned<String>>,
    parent: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Base {
    image: Spanned<String>,
    digest: Option<Spanned<String>>,
    release: Option<Spanned<String>>,
    snapshot: Option<Spanned<String>>,
    platform: Option<Spanned<String>>,
    packages: Option<Spanned<Vec<Spanned<String>>>>,
}

/// What is wrong, and where.
struct Wrong {
    message: String,
    span: Range<usize>,
}

type Checked<T> = Result<T, Wrong>;

impl Lock {
    /// Reads a file's text; `file` is how the user knows it.
    ///
    /// # Errors
    /// E2004 with the place, for whatever this program would not write; a newer version is refused by its number.
    pub fn parse(text: &str, file: &str) -> Result<Self, LockError> {
        let malformed = |wrong: Wrong| LockError::Malformed {
            message: format!("{file} is malformed: {}", one_line(&wrong.message)),
            place: Box::new(Snippet::of_span(file, text, wrong.span)),
        };
        let head: Head = toml::from_str(text).map_err(|error| malformed(error.into()))?;
        match *head.version.get_ref() {
            VERSION => {}
            version if version > VERSION => {
                return Err(LockError::Newer { file: file.to_owned(), version });
            }
            version => {
                return Err(malformed(wrong(&head.version, format!("there is no version {version}"))));
            }
        }
        let raw: File = toml::from_str(text).map_err(|error| malformed(error.into()))?;
        lock(raw, text.len()).map_err(malformed)
    }
}

impl From<toml::de::Error> for Wrong {
    fn from(error: toml::de::Error) -> Self {
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        Self { message, span: error.span().unwrap_or(0..0) }
    }
}

fn wrong<T>(at: &Spanned<T>, message: impl Into<String>) -> Wrong {
    Wrong { message: message.into(), span: at.span() }
}

fn lock(raw: File, end: usize) -> Checked<Lock> {
    if raw.template.is_empty() {
        return Err(Wrong { message: "it has no template".into(), span: end..end });
    }
    for (child, parent) in raw.template.iter().zip(raw.template.iter().skip(1)) {
        let (named, is) = (&child.get_ref().parent, parent.get_ref().reference.get_ref());
        if named.as_ref().map(Spanned::get_ref) != Some(is) {
            let message = format!("`{is}` is not the parent of the template before it");
            return Err(wrong(&parent.get_ref().reference, message));
        }
    }
    if let Some(parent) = raw.template.last().and_then(|last| last.get_ref().parent.as_ref()) {
        return Err(wrong(parent, format!("the parent `{}` is missing", parent.get_ref())));
    }
    let is_image = |template: &Spanned<Template>| template.get_ref().kind.get_ref() == "image";
    let templates = raw.template.iter().map(template).collect::<Checked<Vec<_>>>()?;
    if let Some(at) = raw.template.iter().position(is_image)
        && (at + 1 < templates.len() || raw.base.is_none())
    {
        return Err(wrong(
            &raw.template[at].get_ref().kind,
            "an image is the last one, and has its `[base]`",
        ));
    }
    let images = raw.image.iter().map(base).collect::<Checked<Vec<_>>>()?;
    Ok(Lock { templates, base: raw.base.map(|raw| base(&raw)).transpose()?, images })
}

fn template(raw: &Spanned<Template>) -> Checked<LockedTemplate> {
    let raw_template = raw.get_ref();
    let kind = LockedKind::ALL.into_iter().find(|kind| kind.as_str() == raw_template.kind.get_ref());
    let kind = kind.ok_or_else(|| {
        let known = LockedKind::ALL.map(LockedKind::as_str).join(", ");
        wrong(&raw_template.kind, format!("there is no kind `{}`, but {known}", raw_template.kind.get_ref()))
    })?;
    let locked = LockedTemplate {
        reference: line(&raw_template.reference)?,
        kind,
        name: raw_template.name.as_ref().map(line).transpose()?.unwrap_or_default(),
        tag: raw_template.tag.as_ref().map(line).transpose()?,
        source: raw_template.source.as_ref().map(line).transpose()?,
        commit: raw_template.commit.as_ref().map(commit).transpose()?,
        digest: raw_template.digest.as_ref().map(digest).transpose()?,
    };
    let missing = |key: &str| Err(wrong(raw, format!("a {} template has a `{key}`", kind.as_str())));
    let is_beside = kind == LockedKind::Directory && locked.reference == HERE;
    match kind {
        LockedKind::Image => {}
        _ if locked.name.is_empty() => return missing("name"),
        LockedKind::Github if locked.commit.is_none() => return missing("commit"),
        LockedKind::BuiltIn | LockedKind::Local if locked.tag.is_none() => return missing("tag"),
        _ if locked.digest.is_none() && !is_beside => return missing("digest"),
        _ => {}
    }
    Ok(locked)
}

fn base(raw: &Spanned<Base>) -> Checked<LockedBase> {
    let table = raw.get_ref();
    let image = line(&table.image)?;
    if let Some(in_registry) = &table.digest {
        let digest = digest(in_registry)?;
        let of_archive = table.release.as_ref().or(table.snapshot.as_ref()).or(table.platform.as_ref());
        if let Some(key) = of_archive {
            return Err(wrong(key, "an image of a registry has a `digest` and nothing else"));
        }
        if let Some(key) = &table.packages {
            return Err(wrong(key, "an image of a registry has a `digest` and nothing else"));
        }
        return Ok(LockedBase::Registry { image, digest });
    }
    let (Some(release), Some(snapshot), Some(platform), Some(packages)) =
        (&table.release, &table.snapshot, &table.platform, &table.packages)
    else {
        return Err(wrong(raw, "it has a `digest`, or `release`, `snapshot`, `platform` and `packages`"));
    };
    let listed = packages.get_ref().iter().map(line).collect::<Checked<Vec<_>>>()?;
    for (pair, at) in listed.windows(2).zip(packages.get_ref().iter().skip(1)) {
        if pair[0] >= pair[1] {
            return Err(wrong(at, "packages stand in order, each once"));
        }
    }
    for (package, at) in listed.iter().zip(packages.get_ref()) {
        if package.split_once('=').is_none_or(|(name, version)| name.is_empty() || version.is_empty()) {
            return Err(wrong(at, "a package is written `name=version`"));
        }
    }
    Ok(LockedBase::Archive(LockedArchive {
        image,
        release: line(release)?,
        snapshot: line(snapshot)?,
        platform: line(platform)?,
        packages: listed,
    }))
}

/// Text that is there and fits on a line.
fn line(text: &Spanned<String>) -> Checked<String> {
    match text.get_ref().as_str() {
        "" => Err(wrong(text, "it is empty")),
        found if found.chars().any(char::is_control) => Err(wrong(text, "it has a control character")),
        found => Ok(found.to_owned()),
    }
}

fn commit(text: &Spanned<String>) -> Checked<String> {
    match is_hex(text.get_ref(), 40) {
        true => Ok(text.get_ref().clone()),
        false => Err(wrong(text, "a commit has forty digits of 0-9 and a-f")),
    }
}

fn digest(text: &Spanned<String>) -> Checked<String> {
    match text.get_ref().strip_prefix("sha256:").is_some_and(|digits| is_hex(digits, 64)) {
        true => Ok(text.get_ref().clone()),
        false => Err(wrong(text, "a digest is `sha256:` and 64 digits of 0-9 and a-f")),
    }
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}
