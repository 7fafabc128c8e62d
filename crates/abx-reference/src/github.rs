//! Directories of repositories on GitHub.

mod web;

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::error::{Part, Reason};
use crate::{Range, ReferenceError};

/// The ref that means the newest release where nothing is called so.
pub const LATEST: &str = "latest";

/// `owner/repo[//sub/dir][@ref]`, in any of its spellings.
///
/// Owner and repository compare without case; the user's spelling is kept for display.
#[derive(Clone, Debug)]
pub struct Github {
    owner: String,
    repository: String,
    subdirectory: Option<String>,
    git_ref: Option<GitRef>,
}

/// What follows the `@`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GitRef {
    /// A tag, branch or commit; `latest` is one too until a repository is seen to have none of that name.
    Name(String),
    /// A range over the tags: git forbids `^` and `~` in names of refs.
    Range(Range),
}

impl Github {
    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Relative, without `.`, `..` and empty components.
    pub fn subdirectory(&self) -> Option<&str> {
        self.subdirectory.as_deref()
    }

    /// `None` means the default branch.
    pub fn git_ref(&self) -> Option<&GitRef> {
        self.git_ref.as_ref()
    }

    /// Whether both always stand for the same commit. The sub-directory plays a part only where a tag has to be chosen,
    /// by a range or as `latest`: it may have versions of its own.
    pub fn is_pinned_with(&self, other: &Self) -> bool {
        let is_choice = match &self.git_ref {
            Some(GitRef::Range(_)) => true,
            Some(GitRef::Name(name)) => name == LATEST,
            None => false,
        };
        self.owner.eq_ignore_ascii_case(&other.owner)
            && self.repository.eq_ignore_ascii_case(&other.repository)
            && self.git_ref == other.git_ref
            && (!is_choice || self.subdirectory == other.subdirectory)
    }

    /// The same directory at a commit.
    pub fn at(&self, commit: &str) -> Self {
        Self { git_ref: Some(GitRef::Name(commit.to_owned())), ..self.clone() }
    }

    /// Another directory of the repository, at another ref; `None` for its top and for its default branch. Both are
    /// checked as those of a whole reference are.
    pub fn elsewhere(
        &self,
        subdirectory: Option<&str>,
        git_ref: Option<&str>,
    ) -> Result<Self, ReferenceError> {
        Self::build(&self.owner, &self.repository, subdirectory, git_ref).map_err(|reason| {
            let mut text = format!("{}/{}", self.owner, self.repository);
            text.extend(subdirectory.map(|subdirectory| format!("//{subdirectory}")));
            text.extend(git_ref.map(|git_ref| format!("@{git_ref}")));
            ReferenceError::new(&text, reason)
        })
    }

    /// The other ways to tell ref and directory apart in an address such as `…/tree/feature/x/sub`: the first
    /// components of the sub-directory belong to the ref, one more each time.
    pub fn longer_refs(&self) -> impl Iterator<Item = Self> {
        let name = match &self.git_ref {
            Some(GitRef::Name(name)) => Some(name),
            _ => None,
        };
        let path = self.subdirectory.as_deref().unwrap_or_default();
        let ends = path.match_indices('/').map(|(at, _)| at).chain((!path.is_empty()).then_some(path.len()));
        name.into_iter().flat_map(move |name| {
            ends.clone().filter_map(move |end| {
                let git_ref = Some(GitRef::parse(&format!("{name}/{}", &path[..end])).ok()?);
                Some(Self { subdirectory: path.get(end + 1..).map(str::to_owned), git_ref, ..self.clone() })
            })
        })
    }

    /// `None` where the text has another form.
    pub(crate) fn recognise(text: &str) -> Result<Option<Self>, Reason> {
        if let Some(rest) = text.strip_prefix("git@github.com:").or(text.strip_prefix("github:")) {
            return Self::parse_short(rest).map(Some);
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return match scheme {
                "https" | "http" | "ssh" | "git+https" | "git+ssh" => web::url(rest).map(Some),
                _ => Err(Reason::Scheme { scheme: scheme.to_owned() }),
            };
        }
        if let Some(rest) = text.strip_prefix("github.com/").or(text.strip_prefix("www.github.com/")) {
            return web::path(rest).map(Some);
        }
        let before_ref = text.split(['@', ':']).next().unwrap_or(text);
        if before_ref.contains('/') { Self::parse_short(text).map(Some) } else { Ok(None) }
    }

    /// `o/r[/sub or //sub][@ref]`: the ref is everything behind the last `@`.
    fn parse_short(text: &str) -> Result<Self, Reason> {
        let (path, git_ref) = match text.rsplit_once('@') {
            Some((path, git_ref)) => (path, Some(git_ref)),
            None => (text, None),
        };
        let (owner, rest) = path.split_once('/').unwrap_or((path, ""));
        let (repository, subdirectory) = match rest.split_once('/') {
            Some((repository, subdirectory)) => {
                (repository, Some(subdirectory.strip_prefix('/').unwrap_or(subdirectory)))
            }
            None => (rest, None),
        };
        Self::build(owner, repository, subdirectory, git_ref)
    }

    fn build(
        owner: &str,
        repository: &str,
        subdirectory: Option<&str>,
        git_ref: Option<&str>,
    ) -> Result<Self, Reason> {
        check_owner(owner)?;
        let repository = repository.strip_suffix(".git").unwrap_or(repository);
        check_repository(repository)?;
        let subdirectory =
            subdirectory.map(|path| path.trim_end_matches('/')).filter(|path| !path.is_empty());
        if let Some(path) = subdirectory {
            check_subdirectory(path)?;
        }
        Ok(Self {
            owner: owner.to_owned(),
            repository: repository.to_owned(),
            subdirectory: subdirectory.map(str::to_owned),
            git_ref: git_ref.map(GitRef::parse).transpose()?,
        })
    }
}

impl GitRef {
    fn parse(text: &str) -> Result<Self, Reason> {
        if text.is_empty() {
            return Err(Reason::Missing(Part::GitRef));
        }
        if Range::looks_like_one(text) {
            return Range::parse(text).map(Self::Range);
        }
        if let Some(letter) =
            text.chars().find(|letter| letter.is_control() || " ~^:?*[\\@".contains(*letter))
        {
            return Err(Reason::Letter { part: Part::GitRef, letter });
        }
        let is_sound = |component: &str| {
            !component.is_empty() && !component.starts_with('.') && !component.ends_with(".lock")
        };
        if text.starts_with('-')
            || text.contains("..")
            || text.ends_with('.')
            || !text.split('/').all(is_sound)
        {
            return Err(Reason::Shape { part: Part::GitRef, text: text.to_owned() });
        }
        Ok(Self::Name(text.to_owned()))
    }
}

fn check_owner(owner: &str) -> Result<(), Reason> {
    if owner.is_empty() {
        return Err(Reason::Missing(Part::Owner));
    }
    let allowed = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_');
    if owner.starts_with(['-', '_']) || !owner.bytes().all(allowed) {
        return Err(Reason::Shape { part: Part::Owner, text: owner.to_owned() });
    }
    if owner.len() > 100 {
        return Err(Reason::TooLong { part: Part::Owner, limit: 100 });
    }
    Ok(())
}

fn check_repository(repository: &str) -> Result<(), Reason> {
    if repository.is_empty() {
        return Err(Reason::Missing(Part::Repository));
    }
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    if let Some(letter) = repository.chars().find(|&letter| !allowed(letter)) {
        return Err(Reason::Letter { part: Part::Repository, letter });
    }
    if matches!(repository, "." | "..") || repository.ends_with(".git") {
        return Err(Reason::Shape { part: Part::Repository, text: repository.to_owned() });
    }
    if repository.len() > 100 {
        return Err(Reason::TooLong { part: Part::Repository, limit: 100 });
    }
    Ok(())
}

fn check_subdirectory(path: &str) -> Result<(), Reason> {
    if let Some(letter) = path.chars().find(|letter| letter.is_control()) {
        return Err(Reason::Letter { part: Part::Path, letter });
    }
    // Space at an end would be lost where the reference ends there.
    let is_sound = |component: &str| {
        !matches!(component, "" | "." | "..")
            && !component.contains(['\\', '@', ':'])
            && component.trim() == component
    };
    match path.split('/').find(|component| !is_sound(component)) {
        Some(component) => Err(Reason::Component { component: component.to_owned() }),
        None => Ok(()),
    }
}

impl PartialEq for Github {
    fn eq(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner)
            && self.repository.eq_ignore_ascii_case(&other.repository)
            && self.subdirectory == other.subdirectory
            && self.git_ref == other.git_ref
    }
}

impl Eq for Github {}

impl Hash for Github {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.owner.to_ascii_lowercase().hash(state);
        self.repository.to_ascii_lowercase().hash(state);
        self.subdirectory.hash(state);
        self.git_ref.hash(state);
    }
}

impl fmt::Display for Github {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.repository)?;
        if let Some(subdirectory) = &self.subdirectory {
            write!(f, "//{subdirectory}")?;
        }
        match &self.git_ref {
            None => Ok(()),
            Some(git_ref) => write!(f, "@{git_ref}"),
        }
    }
}

impl fmt::Display for GitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Range(range) => write!(f, "{range}"),
        }
    }
}
