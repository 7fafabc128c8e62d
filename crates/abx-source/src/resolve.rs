//! Reference → lineage: the one loop over `base.from`.

use std::path::Path;

use abx_reference::{Github, LocalPath, Name, Reference, Selector, alias};
use abx_spec::{Base, Place};

use crate::builtin::Builtin;
use crate::github::Checkout;
use crate::{BaseImage, Lineage, Package, PackageRoot, SourceContext, SourceError, kept, local, stored};

/// How many templates may inherit from each other, the first included.
pub const DEPTH: usize = 8;

/// Resolves a reference in any spelling.
pub fn resolve(text: &str, context: &SourceContext) -> Result<Lineage, SourceError> {
    resolve_reference(&Reference::parse(text)?, context)
}

/// Resolves a reference: the package it names, and every package that one inherits from.
pub fn resolve_reference(reference: &Reference, context: &SourceContext) -> Result<Lineage, SourceError> {
    let mut packages: Vec<Package> = Vec::new();
    let mut asked = Asked { reference: reference.clone(), or_image: false, place: None };
    let mut lineage = loop {
        let at = packages.last().zip(asked.place.as_ref()).map(|(child, place)| child.snippet(place));
        let found = find(&asked, packages.last(), context).and_then(|found| {
            check_path(&packages, &found)?;
            Ok(found)
        });
        let package = match found.map_err(|error| error.asked_for_at(at))? {
            Found::Bottom(lineage) => break lineage,
            Found::Package(package) => *package,
        };
        let next = next(&package)?;
        packages.push(package);
        match next {
            Next::Ask(next) => asked = next,
            Next::Base(base) => break Lineage { packages: Vec::new(), base },
        }
    };
    lineage.packages.extend(packages.into_iter().rev());
    Ok(lineage)
}

/// The package that a reference names, without those it inherits from; `None` for an image.
pub fn leaf(reference: &Reference, context: &SourceContext) -> Result<Option<Package>, SourceError> {
    let asked = Asked { reference: reference.clone(), or_image: false, place: None };
    Ok(match find(&asked, None, context)? {
        Found::Package(package) => Some(*package),
        Found::Bottom(mut lineage) => lineage.packages.pop(),
    })
}

/// What to look for next, and where a file asks for it.
struct Asked {
    reference: Reference,
    /// Whether a name that is no template here is an image.
    or_image: bool,
    place: Option<Place>,
}

enum Found {
    /// It inherits from another one.
    Package(Box<Package>),
    /// The image everything is built on, with the packages that are in it.
    Bottom(Lineage),
}

impl Found {
    fn image(name: String, asked: &Asked) -> Self {
        let base = BaseImage::Image { name, place: asked.place.clone() };
        Self::Bottom(Lineage { packages: Vec::new(), base })
    }
}

enum Next {
    Ask(Asked),
    Base(BaseImage),
}

fn next(package: &Package) -> Result<Next, SourceError> {
    let (text, or_image) = match &package.spec.base {
        Some(Base::Image(at)) => {
            return Ok(Next::Base(BaseImage::Image {
                name: at.value.clone(),
                place: Some(at.place.clone()),
            }));
        }
        Some(Base::From(at)) => (at, false),
        Some(Base::Either(at)) => (at, true),
        // Reading a package has refused it without a base.
        None => return Err(SourceError::NoTemplate { display: package.display.clone(), like: None }),
    };
    let reference = Reference::parse(&text.value)?;
    Ok(Next::Ask(Asked { reference, or_image, place: Some(text.place.clone()) }))
}

fn find(asked: &Asked, child: Option<&Package>, context: &SourceContext) -> Result<Found, SourceError> {
    match &asked.reference {
        Reference::Local(path) => directory(path, child, context).map(Box::new).map(Found::Package),
        Reference::Registry(image) => Ok(Found::image(image.image(), asked)),
        Reference::Name(name) => by_name(name, asked, context),
        Reference::Github(github) => fetched(github, context).map(Box::new).map(Found::Package),
    }
}

/// The package in a repository that is at hand.
fn fetched(github: &Github, context: &SourceContext) -> Result<Package, SourceError> {
    let checkout = context.checkouts.iter().find(|checkout| checkout.serves(github));
    let checkout = checkout.ok_or_else(|| SourceError::NotFetched { reference: Box::new(github.clone()) })?;
    local::read(&checkout.root.join(github.subdirectory().unwrap_or_default()), &github.to_string())
}

/// A path in the repository of the package that names it: one of somebody else reaches nothing of this machine.
fn in_repository(
    path: &LocalPath,
    child: &Package,
    root: &Path,
    checkout: &Checkout,
) -> Result<Package, SourceError> {
    let leaves = || SourceError::LeavesRepository {
        reference: path.as_str().to_owned(),
        child: child.display.clone(),
    };
    if !path.is_relative() {
        return Err(leaves());
    }
    let below = root.strip_prefix(&checkout.root).unwrap_or(Path::new(""));
    let below = lexical(&Path::new(".").join(below).join(path.as_str()));
    let display = format!("{} of {}", below.trim_start_matches("./"), checkout.reference);
    let directory = root.join(path.as_str());
    match directory.canonicalize() {
        Ok(found) if !found.starts_with(&checkout.root) => Err(leaves()),
        Err(_) if below == ".." || below.starts_with("../") => Err(leaves()),
        _ => local::read(&directory, &display),
    }
}

/// A relative path starts at the package that names it, on the command line at the working directory.
fn directory(
    path: &LocalPath,
    child: Option<&Package>,
    context: &SourceContext,
) -> Result<Package, SourceError> {
    if let Some(child) = child
        && let PackageRoot::Dir(root) = &child.root
        && let Some(checkout) = context.checkout_of(root)
    {
        return in_repository(path, child, root, checkout);
    }
    let (start, display) = match child {
        None => (context.cwd.as_path(), lexical(Path::new(path.as_str()))),
        Some(Package { root: PackageRoot::Embedded(_), .. }) => {
            return Err(SourceError::DirectoryFromBuiltin { reference: path.as_str().to_owned() });
        }
        Some(Package { root: PackageRoot::Dir(root), display, .. }) if path.is_relative() => {
            (root.as_path(), lexical(Path::new(display).join(path.as_str()).as_path()))
        }
        Some(_) => (context.cwd.as_path(), path.as_str().to_owned()),
    };
    let directory =
        context.directory(path, start).ok_or_else(|| SourceError::NoHome { display: display.clone() })?;
    local::read(&directory, &display)
}

/// A path as a person would write it: `./a/../b` is `./b`.
fn lexical(path: &Path) -> String {
    use std::path::Component;
    let mut parts: Vec<&str> = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir if parts.last().is_some_and(|last| !matches!(*last, ".." | "." | "")) => {
                parts.pop();
            }
            Component::ParentDir if parts == ["."] => parts = vec![".."],
            Component::ParentDir => parts.push(".."),
            Component::CurDir => parts.push("."),
            Component::RootDir => parts.push(""),
            Component::Normal(name) => parts.push(name.to_str().unwrap_or("?")),
            Component::Prefix(_) => {}
        }
    }
    match parts.as_slice() {
        [""] => "/".to_owned(),
        parts => parts.join("/"),
    }
}

/// Built-in, alias, local, in this order.
fn by_name(name: &Name, asked: &Asked, context: &SourceContext) -> Result<Found, SourceError> {
    let wanted = name.name();
    // An image may share its name with an alias: `python:3.12-slim`.
    let target =
        if asked.or_image && *name.selector() != Selector::Latest { wanted } else { alias::resolve(wanted) };
    let builtin = context.builtins.iter().find(|builtin| builtin.name == target);
    let mut available = Vec::new();
    if let Some(builtin) = builtin {
        let package = embedded(builtin)?;
        let version = package.spec.metadata.version.clone();
        if *name.selector() == Selector::Latest || name.selector().choose([version.as_str()]).is_some() {
            return Ok(Found::Package(Box::new(package)));
        }
        available.push(version);
    }
    if let Some(tag) = stored::find(&context.home, name) {
        let packages = kept::packages(&context.home, wanted, &tag)?;
        let base = BaseImage::Stored { name: wanted.to_owned(), tag, place: asked.place.clone() };
        return Ok(Found::Bottom(Lineage { packages, base }));
    }
    available.extend(stored::tags(&context.home, wanted));
    if !available.is_empty() {
        let (name, selector) = (wanted.to_owned(), name.selector().to_string());
        return Err(SourceError::NoVersion { name, selector, available });
    }
    if asked.or_image {
        return Ok(Found::image(name.to_string(), asked));
    }
    Err(unknown(wanted, context))
}

fn unknown(name: &str, context: &SourceContext) -> SourceError {
    let stored = stored::names(&context.home);
    let known = context
        .builtins
        .iter()
        .map(|builtin| builtin.name)
        .chain(alias::ALIASES.iter().map(|(alias, _)| *alias))
        .chain(stored.iter().map(String::as_str))
        .filter(|known| alias::resolve(known) == *known || is_builtin(context, alias::resolve(known)));
    let near = abx_spec::near::near(name, known).into_iter().map(str::to_owned).collect();
    let beside = context.cwd.join(name).is_dir().then(|| name.to_owned());
    SourceError::UnknownName { name: name.to_owned(), near, beside }
}

fn is_builtin(context: &SourceContext, name: &str) -> bool {
    context.builtins.iter().any(|builtin| builtin.name == name)
}

fn embedded(builtin: &'static Builtin) -> Result<Package, SourceError> {
    let no_template = || SourceError::NoTemplate { display: builtin.name.to_owned(), like: None };
    let file = builtin.file("template.yaml").ok_or_else(no_template)?;
    let text = std::str::from_utf8(file.content)
        .map_err(|_| SourceError::NotText { file: format!("{} of {}", file.path, builtin.name) })?;
    Ok(Package::parse(builtin.name, text, PackageRoot::Embedded(builtin))?)
}

/// Whether what was found may stand above `path`, which is leaf first.
fn check_path(path: &[Package], found: &Found) -> Result<(), SourceError> {
    let parents = match found {
        Found::Package(package) => std::slice::from_ref(&**package),
        Found::Bottom(lineage) => lineage.packages.as_slice(),
    };
    let names = |from: usize| {
        let path = path[from..].iter().chain(parents.iter().rev());
        path.map(|package| package.display.clone()).collect::<Vec<_>>()
    };
    if let Found::Package(package) = found
        && let Some(first) = path.iter().position(|known| known.root == package.root)
    {
        return Err(SourceError::Cycle { path: names(first) });
    }
    if path.len() + parents.len() > DEPTH {
        return Err(SourceError::TooDeep { path: names(0), limit: DEPTH });
    }
    Ok(())
}
