//! What a bare name means: built-in, alias, local, then catalog, in this order.

use std::path::PathBuf;

use abx_reference::{Github, Name, Selector, alias};

use crate::builtin::{Builtin, builtins};
use crate::catalog::find;
use crate::error::Catalogue;
use crate::official::{self, Official, SECOND_TIER};
use crate::releases::Releases;
use crate::{Package, PackageRoot, SourceContext, SourceError, stored};

/// What a name leads to.
pub(crate) enum Named {
    /// The template that is embedded.
    Embedded(Box<Package>),
    /// An image of this machine, by its tag.
    Stored { tag: String },
    /// A directory of a repository that need not be at hand.
    Github(Github),
    /// A directory of the official repository's checkout; it is the one asked for only in this version.
    Directory { path: PathBuf, selector: Selector },
    /// Nothing here; it is an image where an image may stand.
    Image,
}

/// Looks a name up. `or_image` says that it may be an image too, which goes before the catalog.
pub(crate) fn look_up(name: &Name, or_image: bool, context: &SourceContext) -> Result<Named, SourceError> {
    if let Some(github) = context.locked().and_then(|lock| lock.repository(name)) {
        return Ok(Named::Github(github));
    }
    let (wanted, selector) = (name.name(), name.selector());
    // An image may share its name with an alias: `python:3.12-slim`.
    let is_image_like = or_image && *selector != Selector::Latest;
    let target = if is_image_like { wanted } else { alias::resolve(wanted) };
    let mut available = Vec::new();
    if let Some(builtin) = context.builtins.iter().find(|builtin| builtin.name == target) {
        match released(builtin, selector, context)? {
            Ok(named) => return Ok(named),
            Err(versions) => available = versions,
        }
    } else if !is_image_like && SECOND_TIER.contains(&target) {
        return official(target, find::git_ref(selector).as_deref(), selector, context);
    }
    if let Some(tag) = stored::find(&context.home, name) {
        return Ok(Named::Stored { tag });
    }
    let tags = stored::tags(&context.home, wanted);
    available.extend(tags.into_iter().filter(|tag| !available.contains(tag)).collect::<Vec<_>>());
    if !available.is_empty() {
        let is_builtin = context.builtins.iter().any(|builtin| builtin.name == target);
        let elsewhere = if is_builtin { newer(target, selector, context) } else { None };
        let (name, selector) = (wanted.to_owned(), selector.to_string());
        return Err(SourceError::NoVersion { name, selector, available, elsewhere });
    }
    if or_image {
        return Ok(Named::Image);
    }
    match context.catalog.as_deref() {
        Some(Ok(catalog)) if let Some(listing) = catalog.listing(wanted) => {
            Ok(Named::Github(find::reference(listing, selector)?))
        }
        _ => Err(unknown(wanted, context)),
    }
}

/// Whether a name means a template before any of this machine is looked for.
pub fn is_taken(name: &str) -> bool {
    let name = alias::resolve(name);
    builtins().iter().any(|builtin| builtin.name == name) || SECOND_TIER.contains(&name)
}

/// The best release of a built-in template, the embedded one among them; else the versions there are.
fn released(
    builtin: &'static Builtin,
    selector: &Selector,
    context: &SourceContext,
) -> Result<Result<Named, Vec<String>>, SourceError> {
    let package = embedded(builtin)?;
    let embedded = package.spec.metadata.version.clone();
    if *selector == Selector::Latest {
        return Ok(Ok(Named::Embedded(Box::new(package))));
    }
    let releases = context.releases.iter().find(|releases| releases.name == builtin.name);
    let mut versions = vec![embedded.as_str()];
    for version in releases.into_iter().flat_map(Releases::versions).filter(|version| *version != embedded) {
        versions.push(version);
    }
    Ok(match selector.choose(versions.iter().copied()) {
        Some(version) if version == embedded => Ok(Named::Embedded(Box::new(package))),
        Some(version) => {
            let tag = official::tag(builtin.name, version);
            Ok(official(builtin.name, Some(&tag), &Selector::Exact(version.to_owned()), context)?)
        }
        None => Err(versions.into_iter().map(str::to_owned).collect()),
    })
}

fn official(
    name: &str,
    git_ref: Option<&str>,
    selector: &Selector,
    context: &SourceContext,
) -> Result<Named, SourceError> {
    Ok(match official::template(name, git_ref, context)? {
        Official::Github(github) => Named::Github(github),
        Official::Directory(path) => Named::Directory { path, selector: selector.clone() },
    })
}

/// Where a release of a built-in template is that is newer than this program.
fn newer(name: &str, selector: &Selector, context: &SourceContext) -> Option<String> {
    let git_ref = find::git_ref(selector).filter(|git_ref| git_ref.starts_with(['^', '~', '=', '>']))?;
    match official::template(name, Some(&git_ref), context) {
        Ok(Official::Github(github)) => Some(github.to_string()),
        _ => None,
    }
}

/// Whether a package is of the version asked for; it is the only one where it is.
pub(crate) fn check_version(package: &Package, selector: &Selector) -> Result<(), SourceError> {
    let version = package.spec.metadata.version.as_str();
    if *selector == Selector::Latest || selector.choose([version]).is_some() {
        return Ok(());
    }
    Err(SourceError::NoVersion {
        name: package.name.clone(),
        selector: selector.to_string(),
        available: vec![version.to_owned()],
        elsewhere: None,
    })
}

fn unknown(name: &str, context: &SourceContext) -> SourceError {
    let stored = stored::names(&context.home);
    let (listed, catalog) = match context.catalog.as_deref() {
        None => (Vec::new(), Catalogue::Unasked),
        Some(Ok(catalog)) => {
            (catalog.index.listings.iter().map(|listing| listing.name.as_str()).collect(), Catalogue::Asked)
        }
        Some(Err(error)) => (Vec::new(), Catalogue::Failed(error.to_string())),
    };
    let is_builtin = |name: &str| context.builtins.iter().any(|builtin| builtin.name == name);
    let known = context
        .builtins
        .iter()
        .map(|builtin| builtin.name)
        .chain(alias::ALIASES.iter().map(|(alias, _)| *alias))
        .chain(stored.iter().map(String::as_str))
        .filter(|known| alias::resolve(known) == *known || is_builtin(alias::resolve(known)))
        .chain(SECOND_TIER)
        .chain(listed);
    let near = abx_spec::near::near(name, known).into_iter().map(str::to_owned).collect();
    let beside = context.cwd.join(name).is_dir().then(|| name.to_owned());
    SourceError::UnknownName { name: name.to_owned(), near, beside, catalog }
}

fn embedded(builtin: &'static Builtin) -> Result<Package, SourceError> {
    let no_template = || SourceError::NoTemplate { display: builtin.name.to_owned(), like: None };
    let file = builtin.file("template.yaml").ok_or_else(no_template)?;
    let text = std::str::from_utf8(file.content)
        .map_err(|_| SourceError::NotText { file: format!("{} of {}", file.path, builtin.name), line: 1 })?;
    Ok(Package::parse(builtin.name, text, PackageRoot::Embedded(builtin))?)
}
