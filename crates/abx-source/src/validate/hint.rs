//! What could be better, and is no reason to change anything.

use abx_core::{Code, Fault, Snippet};
use abx_spec::{At, Base, Spec};

use crate::{Lineage, Package};

/// A piece of advice, with the line it is about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Hint {
    #[error("there are ports, but `ports` is not among the capabilities")]
    Ports { at: Box<Snippet> },
    #[error("no fixed version: {}", .packages.join(", "))]
    Unpinned { packages: Vec<String>, form: &'static str, at: Box<Snippet> },
    #[error("`{image}` is another image at another time")]
    Moving { image: String, at: Box<Snippet> },
}

impl Fault for Hint {
    fn code(&self) -> Code {
        Code::SpecInvalid
    }

    fn hints(&self) -> Vec<String> {
        vec![match self {
            Self::Ports { .. } => "add `ports` to `capabilities`".to_owned(),
            Self::Unpinned { form, .. } => format!("write {form}, and every build gets the same"),
            Self::Moving { .. } => "give it a tag; `abx template lock` holds it to a digest".to_owned(),
        }]
    }

    fn snippets(&self) -> Vec<Snippet> {
        let (Self::Ports { at } | Self::Unpinned { at, .. } | Self::Moving { at, .. }) = self;
        vec![(**at).clone()]
    }
}

/// Every hint on the template itself.
pub(super) fn hints(lineage: &Lineage, package: &Package) -> Vec<Hint> {
    let mut hints = Vec::new();
    hints.extend(moving(package));
    let build = &package.spec.build;
    hints.extend(unpinned(package, &build.pip_install, "NAME==VERSION", is_pinned_for_pip));
    hints.extend(unpinned(package, &build.npm_install, "NAME@VERSION", is_pinned_for_npm));
    hints.extend(ports(&package.spec, lineage, package));
    hints
}

fn ports(spec: &Spec, lineage: &Lineage, package: &Package) -> Option<Hint> {
    let first = spec.network.ports.first()?;
    if lineage.effective().capabilities.iter().any(|word| word == "ports") {
        return None;
    }
    Some(Hint::Ports { at: Box::new(package.snippet(&first.place)) })
}

fn unpinned(
    package: &Package,
    items: &[At<String>],
    form: &'static str,
    is_pinned: fn(&str) -> bool,
) -> Option<Hint> {
    let loose: Vec<&At<String>> = items.iter().filter(|item| !is_pinned(&item.value)).collect();
    let at = Box::new(package.snippet(&loose.first()?.place));
    let packages = loose.iter().map(|item| format!("`{}`", item.value)).collect();
    Some(Hint::Unpinned { packages, form, at })
}

/// Options and files are not ours to judge.
fn is_path(requirement: &str) -> bool {
    requirement.starts_with(['.', '/', '-']) || requirement.contains("://")
}

fn is_pinned_for_pip(requirement: &str) -> bool {
    is_path(requirement) || requirement.contains("==") || requirement.contains(" @ ")
}

fn is_pinned_for_npm(requirement: &str) -> bool {
    let scope = usize::from(requirement.starts_with('@'));
    let version = requirement[scope..].split_once('@').map(|(_, version)| version);
    is_path(requirement)
        || version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
}

/// An image without a tag, or with one that says no more.
fn moving(package: &Package) -> Option<Hint> {
    let Some(Base::Image(at)) = &package.spec.base else { return None };
    let last = at.value.rsplit('/').next().unwrap_or(&at.value);
    let is_fixed = last.contains('@') || last.split_once(':').is_some_and(|(_, tag)| tag != "latest");
    if is_fixed {
        return None;
    }
    let snippet = Box::new(package.snippet(&at.place));
    Some(Hint::Moving { image: at.value.clone(), at: snippet })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_are_fixed() {
        for (text, expected) in [
            ("flask", false),
            ("flask==3.0", true),
            ("flask>=3", false),
            ("flask @ https://example.com/f.whl", true),
            ("-r files/requirements.txt", true),
            ("./local", true),
        ] {
            assert_eq!(is_pinned_for_pip(text), expected, "{text}");
        }
        for (text, expected) in [
            ("left-pad", false),
            ("left-pad@1.3.0", true),
            ("@a/b", false),
            ("@a/b@1", true),
            ("x@^1", false),
        ] {
            assert_eq!(is_pinned_for_npm(text), expected, "{text}");
        }
    }
}
