//! The official repository: where the templates of the second tier and older releases of built-in ones are.
//!
//! It is a setting, so that a mirror or a checkout on this machine can stand in.

use std::path::PathBuf;

use abx_reference::{Github, LocalPath, Reference, Selector, Version, alias};

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

/// Where the template `name` is at the version asked for: a release has the tag `NAME/vVERSION`.
pub(crate) fn template(
    name: &str,
    selector: &Selector,
    context: &SourceContext,
) -> Result<Official, SourceError> {
    match repository(context)? {
        Reference::Github(github) => {
            let below = github.subdirectory().map_or_else(|| name.to_owned(), |top| format!("{top}/{name}"));
            let git_ref = match selector {
                Selector::Latest => github.git_ref().map(ToString::to_string),
                Selector::Range(range) => Some(range.to_string()),
                Selector::Exact(tag) => Some(match Version::parse(tag) {
                    Some(version) => format!("{name}/v{version}"),
                    None => tag.clone(),
                }),
            };
            Ok(Official::Github(github.elsewhere(Some(&below), git_ref.as_deref())?))
        }
        Reference::Local(path) if !path.is_relative() => {
            let top = context.directory(&path, &context.cwd);
            let top = top.ok_or_else(|| SourceError::NoHome { display: path.to_string() })?;
            Ok(Official::Directory(top.join(name)))
        }
        _ => Err(malformed(context)),
    }
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
        for (official, name, expected) in [
            (OFFICIAL, "go-dev", github("alicloud/sandbox-templates//go-dev")),
            (OFFICIAL, "go-dev:1.2", github("alicloud/sandbox-templates//go-dev@go-dev/v1.2.0")),
            (OFFICIAL, "go-dev:^1", github("alicloud/sandbox-templates//go-dev@^1")),
            (OFFICIAL, "go-dev:next", github("alicloud/sandbox-templates//go-dev@next")),
            ("o/mirror//t@main", "go-dev", github("o/mirror//t/go-dev@main")),
            ("o/mirror//t@main", "go-dev:1.2.3", github("o/mirror//t/go-dev@go-dev/v1.2.3")),
            ("/srv/templates", "go-dev:1.2.3", dir("/srv/templates/go-dev")),
            ("~/templates", "go-dev", dir("/home/me/templates/go-dev")),
            ("file:/srv/templates", "go-dev", dir("/srv/templates/go-dev")),
            ("./templates", "go-dev", None),
            ("docker://x", "go-dev", None),
            ("name", "go-dev", None),
            ("", "go-dev", None),
        ] {
            let Ok(Reference::Name(parsed)) = Reference::parse(name) else { panic!("{name}") };
            let found = template(parsed.name(), parsed.selector(), &context(official));
            assert_eq!(found.ok(), expected, "{official} {name}");
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
