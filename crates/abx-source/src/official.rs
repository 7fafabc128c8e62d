//! The official repository: where the templates of the second tier and older releases of built-in ones are.
//!
//! It is a setting, so that a mirror or a checkout on this machine can stand in.

use std::path::PathBuf;

use abx_reference::{Github, LocalPath, Reference, alias};

use crate::{SourceContext, SourceError};

/// The official repository unless somebody says otherwise.
pub const OFFICIAL: &str = "alicloud/sandbox-templates";

/// Names that stand for sub-directories of it.
pub const SECOND_TIER: [&str; 5] = ["browser-automation", "full-stack", "go-dev", "java-dev", "ml-gpu"];

/// Where a template of the official repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Official {
    Github(Github),
    /// In a checkout on this machine, which has one version of it.
    Directory(PathBuf),
}

/// Where the template `name` is; `git_ref` goes before what the setting says of it.
pub(crate) fn template(
    name: &str,
    git_ref: Option<&str>,
    context: &SourceContext,
) -> Result<Official, SourceError> {
    match repository(context)? {
        Reference::Github(github) => {
            let below = github.subdirectory().map_or_else(|| name.to_owned(), |top| format!("{top}/{name}"));
            let own = github.git_ref().map(ToString::to_string);
            Ok(Official::Github(github.elsewhere(Some(&below), git_ref.or(own.as_deref()))?))
        }
        Reference::Local(path) if !path.is_relative() => {
            let top = context.directory(&path, &context.cwd);
            let top = top.ok_or_else(|| SourceError::NoHome { display: path.to_string() })?;
            Ok(Official::Directory(top.join(name)))
        }
        _ => Err(malformed(context)),
    }
}

/// The tag of a release.
pub(crate) fn tag(name: &str, version: &str) -> String {
    format!("{name}/v{version}")
}

/// The same reference without an alias as the name of a directory: `…/python` of the official repository is its
/// `python-base`. `None` where there is nothing to replace.
pub(crate) fn without_alias(github: &Github, context: &SourceContext) -> Option<Github> {
    let mut official: Vec<Github> = vec![parse(OFFICIAL)?];
    official.extend(parse(&context.official));
    let is_same = |known: &&Github| {
        known.owner().eq_ignore_ascii_case(github.owner())
            && known.repository().eq_ignore_ascii_case(github.repository())
    };
    let known = official.iter().find(is_same)?;
    let below = github.subdirectory()?;
    let name = match known.subdirectory() {
        Some(top) => below.strip_prefix(top)?.strip_prefix('/')?,
        None => below,
    };
    let target = alias::resolve(name);
    let renamed = format!("{}{target}", &below[..below.len() - name.len()]);
    let git_ref = github.git_ref().map(ToString::to_string);
    (target != name).then(|| github.elsewhere(Some(&renamed), git_ref.as_deref()).ok()).flatten()
}

fn repository(context: &SourceContext) -> Result<Reference, SourceError> {
    Reference::parse(&context.official).map_err(|_| malformed(context))
}

fn parse(text: &str) -> Option<Github> {
    match Reference::parse(text) {
        Ok(Reference::Github(github)) => Some(github),
        _ => None,
    }
}

fn malformed(context: &SourceContext) -> SourceError {
    SourceError::OfficialMalformed { text: context.official.clone() }
}

/// Whether a path of this machine is what a setting may name as the official repository.
pub fn is_sound(text: &str) -> bool {
    match Reference::parse(text) {
        Ok(Reference::Github(_)) => true,
        Ok(Reference::Local(path)) => !LocalPath::is_relative(&path),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_core::Home;

    fn context(official: &str) -> SourceContext {
        let context = SourceContext::new(Home::new("/none"), "/work".into(), Some("/home/me".into()));
        SourceContext { official: official.to_owned(), ..context }
    }

    #[test]
    fn a_name_leads_to_a_directory_of_the_repository() {
        let dir = |path: &str| Some(Official::Directory(path.into()));
        let github = |text: &str| parse(text).map(Official::Github);
        for (official, git_ref, expected) in [
            (OFFICIAL, None, github("alicloud/sandbox-templates//go-dev")),
            (OFFICIAL, Some("go-dev/v1.2.0"), github("alicloud/sandbox-templates//go-dev@go-dev/v1.2.0")),
            ("o/mirror//t@main", None, github("o/mirror//t/go-dev@main")),
            ("o/mirror//t@main", Some("^1"), github("o/mirror//t/go-dev@^1")),
            ("/srv/templates", Some("^1"), dir("/srv/templates/go-dev")),
            ("~/templates", None, dir("/home/me/templates/go-dev")),
            ("file:/srv/templates", None, dir("/srv/templates/go-dev")),
            ("./templates", None, None),
            ("docker://x", None, None),
            ("name", None, None),
            ("", None, None),
        ] {
            let found = template("go-dev", git_ref, &context(official));
            assert_eq!(found.ok(), expected, "{official} {git_ref:?}");
            assert_eq!(is_sound(official), expected.is_some(), "{official}");
        }
    }

    #[test]
    fn aliases_hold_for_its_directories_alone() {
        for (official, text, expected) in [
            (OFFICIAL, "alicloud/sandbox-templates/python", Some("alicloud/sandbox-templates//python-base")),
            (
                OFFICIAL,
                "AliCloud/Sandbox-Templates/python@v2",
                Some("AliCloud/Sandbox-Templates//python-base@v2"),
            ),
            (OFFICIAL, "alicloud/sandbox-templates/go-dev", None),
            (OFFICIAL, "alicloud/sandbox-templates", None),
            (OFFICIAL, "alicloud/sandbox-templates/x/python", None),
            (OFFICIAL, "alicloud/other/python", None),
            ("o/m//t", "o/m/t/python@^1", Some("o/m//t/python-base@^1")),
            ("o/m//t", "o/m/python", None),
            ("o/m//t", "alicloud/sandbox-templates/python", Some("alicloud/sandbox-templates//python-base")),
            ("/srv/x", "alicloud/sandbox-templates/python", Some("alicloud/sandbox-templates//python-base")),
        ] {
            let github = parse(text).expect(text);
            let found = without_alias(&github, &context(official)).map(|github| github.to_string());
            assert_eq!(found.as_deref(), expected, "{official} {text}");
        }
    }
}
