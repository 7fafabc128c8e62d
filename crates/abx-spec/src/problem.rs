//! All that can be wrong with a template's file.

use abx_core::Fault;
use abx_core::egress::TargetError;
use abx_reference::ReferenceError;

use crate::index::IndexProblem;
use crate::limits::{CAPABILITIES, CATEGORIES};
use crate::suite::SuiteProblem;

/// What is wrong, with the words it is about. Keys are written with their section: `resources.cpu`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    // The file.
    #[error("the file is empty")]
    Empty,
    #[error("the file is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("this is no YAML: {detail}")]
    Syntax { detail: String, hint: Option<&'static str> },
    #[error("a template is a map of keys, not {found}")]
    NotMap { found: &'static str },
    #[error("the file holds more than one document")]
    SecondDocument,
    #[error("the file holds more than {limit} values, aliases counted as often as they are used")]
    TooManyNodes { limit: usize },
    #[error("values are nested more than {limit} deep")]
    TooDeep { limit: usize },
    #[error("this alias stands inside the value it repeats")]
    AliasWithinItself,
    #[error("the tag `{tag}` means nothing here")]
    Tag { tag: String },
    #[error("a key must be a plain word")]
    KeyNotScalar,
    #[error("the key `{key}` is there twice, first in line {first_line}")]
    DuplicateKey { key: String, first_line: usize },
    #[error("this file is no template: it looks like {what}")]
    Foreign { what: &'static str },

    // Keys.
    #[error("unknown key `{key}`{}", section_note(.section))]
    UnknownKey {
        key: String,
        section: &'static str,
        near: Option<&'static str>,
        home: Option<&'static str>,
        instead: Option<&'static str>,
    },
    #[error("`custom_commands` is not a key of templates")]
    CustomCommands { is_older: bool },
    #[error("the key `{key}` is missing")]
    Missing { key: &'static str },
    #[error("`{key}` must be {wanted}, not {found}")]
    WrongType { key: String, wanted: &'static str, found: &'static str, hint: Option<String> },
    #[error("`{key}` must not be empty")]
    Blank { key: String },
    #[error("`{key}` must be a string, and `{text}` without quotes is {found}")]
    Unquoted { key: String, text: String, found: &'static str },
    #[error("`{key}` must be `true` or `false`; in YAML 1.2 `{text}` is a string")]
    NotBoolean { key: String, text: String, meant: Option<bool> },
    #[error("`{key}` is {value}, outside of {low} to {high}")]
    OutOfBounds { key: String, value: String, low: String, high: String },
    #[error("`{key}` must be {wanted}: `{text}`")]
    NotAmount { key: String, wanted: &'static str, text: String, hint: Option<String> },
    #[error("`{key}` must not hold the character with the number 0")]
    Nul { key: String },

    // Values.
    #[error("specification version `{text}` is not known here")]
    SpecVersion { text: String },
    #[error("the version `{text}` must be quoted: without quotes YAML reads it as a number")]
    UnquotedVersion { text: String },
    #[error("`{text}` is no semantic version: {detail}")]
    NotSemver { text: String, detail: String, meant: Option<String> },
    #[error("`{text}` cannot name a template: {detail}")]
    Name { text: String, detail: String },
    #[error("unknown category `{word}`")]
    Category { word: String, near: Option<&'static str> },
    #[error("unknown capability `{word}`")]
    Capability { word: String, near: Option<&'static str> },
    #[error("`{key}` is `{word}`, which is none of {}", list(.known))]
    NotOneOf { key: &'static str, word: String, known: &'static [&'static str], near: Option<&'static str> },
    #[error("`base.image` and `base.from` exclude each other")]
    TwoBases,
    #[error("the image name `{text}` is malformed: {detail}")]
    Image { text: String, detail: String },
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error("`{key}`: {error}")]
    Target { key: String, error: TargetError },
    #[error("`network.egress` has {count} targets, more than {limit}")]
    TooManyTargets { count: usize, limit: usize },
    #[error("`{text}` is no package")]
    Package { text: String, hint: &'static str },
    #[error("`{name}` cannot be the name of an environment variable")]
    EnvName { name: String },
    #[error("the environment variable `{name}` has no value")]
    EnvNull { name: String },
    #[error("`{key}` must stay inside the package: `{path}`")]
    PathLeaves { key: &'static str, path: String },
    #[error("`{key}` must be an absolute path: `{path}`")]
    PathNotAbsolute { key: &'static str, path: String },
    #[error("`{key}` must not contain `..`: `{path}`")]
    PathGoesUp { key: &'static str, path: String },
    #[error("`{key}` cannot begin with `~`: `{path}`")]
    PathTilde { key: &'static str, path: String },
    #[error("`{text}` is no user name")]
    User { text: String },
    #[error("a probe of type `{kind}` needs `{key}`")]
    ProbeNeeds { kind: &'static str, key: &'static str },
    #[error("a probe of type `{kind}` has no use for `{key}`")]
    ProbeUnused { kind: &'static str, key: &'static str },

    // An index of templates.
    #[error(transparent)]
    Index(#[from] IndexProblem),

    // A file of tests.
    #[error(transparent)]
    Suite(#[from] SuiteProblem),

    // What only the package's folder tells.
    #[error("there is no `{path}` in the package")]
    NoSuchFile { path: String },
    #[error("`{path}` leads out of the package through a link")]
    LinkLeaves { path: String },

    // Questionable, but no reason to stop.
    #[error("`{key}` is the older name of `{now}`")]
    OlderKey { key: String, now: &'static str },
    #[error("port {port} is listed twice")]
    PortTwice { port: u16 },
    #[error("capability `{word}` is listed twice")]
    CapabilityTwice { word: String },
    #[error("the package's folder is called `{folder}`, the template `{name}`")]
    FolderName { folder: String, name: String },
    #[error("`{path}` is not executable")]
    NotExecutable { path: String },
    #[error("`{path}` has Windows line ends")]
    WindowsLineEnds { path: String },
    #[error("`{path}` has no `#!` line")]
    NoShebang { path: String },
    #[error("`{path}` is {what} and will be left out")]
    LeftOut { path: String, what: &'static str },
}

const MIGRATE: &str = "`abx template migrate` rewrites the file and makes each of them a function there";

impl Problem {
    /// What to do about it, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        let more = match self {
            Self::CustomCommands { is_older: true } => Some(MIGRATE.to_owned()),
            _ => None,
        };
        self.hint().into_iter().chain(more).collect()
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Empty | Self::NotMap { .. } => Some("the least a template says is `version: \"1\"`, `metadata: {name: …}` and `base: {image: …}`".into()),
            Self::Syntax { hint, .. } => hint.map(str::to_owned),
            Self::SecondDocument => Some("remove everything from the second `---` on".into()),
            Self::Tag { .. } | Self::KeyNotScalar => Some("quote the text if it is meant literally".into()),
            Self::DuplicateKey { .. } => Some("keep one of the two".into()),
            Self::Foreign { .. } => Some("a template has `version: \"1\"`, `metadata` and `base`; give the package its own directory".into()),
            Self::UnknownKey { key, near, home, instead, .. } => match (near, home, instead) {
                (Some(near), ..) => Some(format!("did you mean `{near}`?")),
                (None, Some(home), _) => Some(format!("`{key}` belongs to {home}")),
                (None, None, Some(form)) if form.contains(' ') => Some(format!("use {form}")),
                (None, None, Some(instead)) => Some(format!("write `{instead}` instead")),
                (None, None, None) => None,
            },
            Self::CustomCommands { .. } => Some(
                "register named commands in the template's `commands.py` with `@sandbox.register`, and call them \
                 with `abx run ID NAME --arg K=V` or `sandbox.run(\"name\", …)`".into(),
            ),
            Self::OlderKey { now, .. } => Some(format!("write `{now}` instead; `abx template migrate` rewrites the whole file")),
            Self::Missing { key } => Some(missing_hint(key)),
            Self::WrongType { hint, .. } | Self::NotAmount { hint, .. } => hint.clone(),
            Self::Unquoted { text, .. } | Self::UnquotedVersion { text } => Some(format!("quote it: \"{text}\"")),
            Self::NotBoolean { meant, .. } => meant.map(|meant| format!("write `{meant}`")),
            Self::SpecVersion { text } => Some(match text.as_str() {
                "1" => "quote it: version: \"1\"".into(),
                _ => "this abx reads version \"1\"; a template's own version goes to `metadata.version`".into(),
            }),
            Self::NotSemver { meant, .. } => Some(match meant {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => "a version is MAJOR.MINOR.PATCH, like \"1.2.0\"".into(),
            }),
            Self::Name { .. } => Some("a name has letters, digits, `.`, `_` and `-`, and begins with a letter or digit".into()),
            Self::Category { near, .. } => Some(did_you_mean(*near, CATEGORIES)),
            Self::Capability { near, .. } => {
                Some(format!("{} (words of your own begin with `x-`)", did_you_mean(*near, CAPABILITIES)))
            }
            Self::NotOneOf { near, .. } => near.map(|near| format!("did you mean `{near}`?")),
            Self::TwoBases => Some("keep `image` to start from a container image, `from` to inherit from a template".into()),
            Self::Image { text, .. } if text.chars().any(|letter| letter.is_ascii_uppercase()) => {
                Some(format!("names of images are in lower case: `{}`", text.to_ascii_lowercase()))
            }
            Self::Image { .. } => Some("an image is written as for docker: `debian:bookworm-slim`, `host/ns/image:tag`".into()),
            Self::Reference(error) => error.hints().into_iter().next(),
            Self::Index(problem) => problem.hint(),
            Self::Suite(problem) => problem.hint(),
            Self::Target { error, .. } => error.hints().into_iter().next(),
            Self::TooManyTargets { .. } => Some("name networks (`10.0.0.0/8`) and what is below a name (`*.example.com`)".into()),
            Self::Package { hint, .. } => Some((*hint).into()),
            Self::EnvName { .. } => Some("names have letters, digits and `_`, and do not begin with a digit".into()),
            Self::EnvNull { name } => Some(format!("write `{name}: \"\"` for an empty one, or remove the line")),
            Self::PathLeaves { .. } => Some("copy the file into the package and name it relative to template.yaml".into()),
            Self::PathTilde { .. } => Some("the home directory is not known while building; write the path out".into()),
            Self::User { .. } => Some("a user name has lower-case letters, digits, `_` and `-`, at most 32".into()),
            Self::NoSuchFile { path } if path.contains('*') => {
                Some("patterns are not expanded; name the folder or each file".into())
            }
            Self::NoSuchFile { .. } => Some("paths are relative to the folder of template.yaml".into()),
            Self::LinkLeaves { .. } => Some("put the file itself in the place of the link".into()),
            Self::FolderName { .. } => Some("people look for one name; give both the same".into()),
            Self::NotExecutable { path } => Some(format!("run `chmod +x {path}`")),
            Self::WindowsLineEnds { path } => Some(format!("run `sed -i 's/\\r$//' {path}`; a shell fails on them")),
            Self::NoShebang { .. } => Some("begin it with `#!/bin/bash`, or it is run by /bin/sh".into()),
            _ => None,
        }
    }
}

fn section_note(section: &str) -> String {
    if section.is_empty() { String::new() } else { format!(" in `{section}`") }
}

fn missing_hint(key: &str) -> String {
    match key {
        "version" => "begin the file with `version: \"1\"`".into(),
        "metadata.name" => "name the template: `metadata: {name: my-template}`".into(),
        "base" => "start from an image (`base: {image: \"debian:bookworm-slim\"}`) or from a template \
                   (`base: {from: python-base}`)"
            .into(),
        key => format!("add `{}`", key.rsplit('.').next().unwrap_or(key)),
    }
}

fn did_you_mean(near: Option<&str>, known: &[&str]) -> String {
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the words are {}", list(known)),
    }
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
