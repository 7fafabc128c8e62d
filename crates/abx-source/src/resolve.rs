//! Reference → lineage: the one loop over `base.from`.

mod stages;

use std::path::{Path, PathBuf};

use abx_reference::{Github, LocalPath, Name, Reference, Registry};
use abx_spec::{Base, Place};

use crate::context::Bounds;
use crate::local::Asking;
use crate::local_archive::{self, Form};
use crate::named::{self, Named};
use crate::registry::{RegistryError, is_plain};
use crate::{
    BaseImage, Lineage, Package, PackageRoot, SourceContext, SourceError, Vendored, kept, local, official,
};

/// How many templates may inherit from each other, the first included.
pub const DEPTH: usize = 8;

/// Resolves a reference in any spelling.
pub fn resolve(text: &str, context: &SourceContext) -> Result<Lineage, SourceError> {
    resolve_reference(&Reference::parse(text)?, context)
}

/// Resolves a reference: the package it names, and every package that one inherits from.
pub fn resolve_reference(reference: &Reference, context: &SourceContext) -> Result<Lineage, SourceError> {
    climb(Asked::for_caller(reference), &[], context)
}

/// From what is asked for to the image at the bottom. `above` is what leads here, the template itself first, where a
/// Dockerfile asks.
fn climb(asked: Asked, above: &[&Package], context: &SourceContext) -> Result<Lineage, SourceError> {
    let mut packages: Vec<Package> = Vec::new();
    let mut asked = asked;
    let mut lineage = loop {
        let child = packages.last().or(above.last().copied());
        let at = child.zip(asked.place.as_ref()).map(|(child, place)| child.snippet(place));
        let found = find(&asked, child, context).and_then(|found| {
            let path: Vec<&Package> = above.iter().copied().chain(&packages).collect();
            check_path(&path, &found)?;
            Ok(found)
        });
        let mut package = match found.map_err(|error| error.asked_for_at(at))? {
            Found::Bottom(lineage) => break *lineage,
            Found::Package(package) => *package,
        };
        let path: Vec<&Package> = above.iter().copied().chain(&packages).collect();
        stages::resolve(&mut package, &path, context)?;
        let next = next(&package)?;
        packages.push(package);
        match next {
            Next::Ask(next) => asked = next,
            Next::Base(base) => break Lineage { packages: Vec::new(), base, locked: None },
        }
    };
    lineage.packages.extend(packages.into_iter().rev());
    lineage.locked = context.locked().and_then(|lock| lock.base_of(&lineage.base)).cloned();
    Ok(lineage)
}

/// The package that a reference names, without those it inherits from; `None` for an image.
pub fn leaf(reference: &Reference, context: &SourceContext) -> Result<Option<Package>, SourceError> {
    Ok(match find(&Asked::for_caller(reference), None, context)? {
        Found::Package(package) => Some(*package),
        Found::Bottom(mut lineage) => lineage.packages.pop(),
    })
}

/// The reference that is read for this one: a name of the catalog or the official repository stands for a directory,
/// and an alias for its target. Every other one is itself.
pub fn stands_for(reference: &Reference, context: &SourceContext) -> Result<Reference, SourceError> {
    Ok(match reference {
        Reference::Github(github) => {
            Reference::Github(official::without_alias(github, context).unwrap_or_else(|| github.clone()))
        }
        Reference::Name(name) => match as_locked(name, context, |name| named::look_up(name, false, context))?
        {
            Named::Github(github) => Reference::Github(github),
            Named::Directory { path, .. } => Reference::parse(&path.display().to_string())?,
            _ => reference.clone(),
        },
        other => other.clone(),
    })
}

/// Does something with a name as it is locked. What is no longer to be had has drifted, and the newest is what there is.
fn as_locked<T>(
    name: &Name,
    context: &SourceContext,
    look: impl Fn(&Name) -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    match context.locked_name(name) {
        Some(locked) => look(&locked).or_else(|error| match error {
            SourceError::NoVersion { .. } | SourceError::UnknownName { .. } => look(name),
            error => Err(error),
        }),
        None => look(name),
    }
}

/// What to look for next, and where a file asks for it.
struct Asked {
    reference: Reference,
    /// Whether a name that is no template here is an image.
    or_image: bool,
    place: Option<Place>,
}

impl Asked {
    fn for_caller(reference: &Reference) -> Self {
        Self { reference: reference.clone(), or_image: false, place: None }
    }

    /// How a directory is read for it.
    fn asking<'c>(&self, is_remote: bool, context: &'c SourceContext) -> Asking<'c> {
        Asking { context, is_asked: self.place.is_none(), is_remote }
    }
}

enum Found {
    /// It inherits from another one.
    Package(Box<Package>),
    /// The image everything is built on, with the packages that are in it.
    Bottom(Box<Lineage>),
}

impl Found {
    fn bottom(lineage: Lineage) -> Self {
        Self::Bottom(Box::new(lineage))
    }

    fn image(name: String, asked: &Asked) -> Self {
        let base = BaseImage::Image { name, place: asked.place.clone() };
        Self::bottom(Lineage { packages: Vec::new(), base, locked: None })
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
        None if package.dockerfile.is_some() => return Ok(Next::Base(BaseImage::Scratch)),
        // Reading a package has refused it without a base.
        None => return Err(SourceError::NoTemplate { display: package.display.clone(), like: None }),
    };
    let reference = Reference::parse(&text.value)?;
    Ok(Next::Ask(Asked { reference, or_image, place: Some(text.place.clone()) }))
}

fn find(asked: &Asked, child: Option<&Package>, context: &SourceContext) -> Result<Found, SourceError> {
    match &asked.reference {
        Reference::Local(path) => on_disk(path, asked, child, context),
        Reference::Registry(image) => in_registry(image, asked, context),
        Reference::Name(name) => as_locked(name, context, |name| by_name(name, asked, context)),
        Reference::Github(github) => fetched(github, asked, context).map(Box::new).map(Found::Package),
    }
}

/// An image of a registry that has been looked up, with the packages that are in it.
fn in_registry(image: &Registry, asked: &Asked, context: &SourceContext) -> Result<Found, SourceError> {
    let found = context.images.iter().find(|found| found.serves(image));
    if found.is_none() && is_plain(image) {
        return Ok(Found::image(image.image(), asked));
    }
    let found = found.ok_or_else(|| RegistryError::Unasked { reference: image.clone() })?;
    let base = BaseImage::Image { name: found.name(), place: asked.place.clone() };
    Ok(Found::bottom(Lineage { packages: found.packages.clone(), base, locked: None }))
}

/// The package in a repository that is at hand.
fn fetched(github: &Github, asked: &Asked, context: &SourceContext) -> Result<Package, SourceError> {
    let renamed = official::without_alias(github, context);
    let github = renamed.as_ref().unwrap_or(github);
    let checkout = context.checkouts.iter().find(|checkout| checkout.serves(github));
    let checkout = checkout.ok_or_else(|| SourceError::NotFetched { reference: Box::new(github.clone()) })?;
    local::read(
        &checkout.root.join(github.subdirectory().unwrap_or_default()),
        &github.to_string(),
        &asked.asking(true, context),
    )
}

/// A path in the repository of the package that names it: one of somebody else reaches nothing of this machine.
fn in_repository(
    path: &LocalPath,
    child: &Package,
    root: &Path,
    bounds: &Bounds<'_>,
    asking: &Asking<'_>,
) -> Result<Package, SourceError> {
    let leaves = || SourceError::LeavesRepository {
        reference: path.as_str().to_owned(),
        child: child.display.clone(),
    };
    if !path.is_relative() {
        return Err(leaves());
    }
    let below = root.strip_prefix(bounds.top).unwrap_or(Path::new(""));
    let below = lexical(&Path::new(".").join(below).join(path.as_str()));
    let display = format!("{} of {}", below.trim_start_matches("./"), bounds.display);
    let directory = root.join(path.as_str());
    match directory.canonicalize() {
        Ok(found) if !found.starts_with(bounds.top) => Err(leaves()),
        Err(_) if below == ".." || below.starts_with("../") => Err(leaves()),
        _ => local::read(&directory, &display, asking),
    }
}

/// A relative path starts at the package that names it, on the command line at the working directory.
fn on_disk(
    path: &LocalPath,
    asked: &Asked,
    child: Option<&Package>,
    context: &SourceContext,
) -> Result<Found, SourceError> {
    let found = |package: Package| Found::Package(Box::new(package));
    if let Some(child) = child
        && let PackageRoot::Dir(root) = &child.root
        && let Some(bounds) = context.bounds_of(root)
    {
        return in_repository(path, child, root, &bounds, &asked.asking(true, context)).map(found);
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
    if let Some(archive) = context.archives.iter().find(|archive| archive.file == directory) {
        return local::read(&archive.root, &display, &asked.asking(true, context)).map(found);
    }
    match local_archive::form_of(&directory) {
        Some(Form::Vendored) => vendored(&directory, display, asked),
        Some(_) => Err(SourceError::NotUnpacked { file: directory, display }),
        None => local::read(&directory, &display, &asked.asking(false, context)).map(found),
    }
}

/// A template with all it inherits from, and their image.
fn vendored(file: &Path, display: String, asked: &Asked) -> Result<Found, SourceError> {
    // Without the `.` of a relative path.
    let read = Vendored::read(&file.components().collect::<PathBuf>());
    let (vendored, packages) =
        read.map_err(|error| SourceError::Vendored { display, error: Box::new(error) })?;
    let base = BaseImage::Vendored { vendored: Box::new(vendored), place: asked.place.clone() };
    Ok(Found::bottom(Lineage { packages, base, locked: None }))
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

fn by_name(name: &Name, asked: &Asked, context: &SourceContext) -> Result<Found, SourceError> {
    let wanted = name.name();
    Ok(match named::look_up(name, asked.or_image, context)? {
        Named::Embedded(package) => Found::Package(package),
        Named::Github(github) => Found::Package(Box::new(fetched(&github, asked, context)?)),
        Named::Directory { path, selector } => {
            let package = local::read(&path, &path.display().to_string(), &asked.asking(true, context))?;
            named::check_version(&package, &selector)?;
            Found::Package(Box::new(package))
        }
        Named::Stored { tag } => {
            let packages = kept::packages(&context.home, wanted, &tag)?;
            let base = BaseImage::Stored { name: wanted.to_owned(), tag, place: asked.place.clone() };
            Found::bottom(Lineage { packages, base, locked: None })
        }
        Named::Image => Found::image(name.to_string(), asked),
    })
}

/// Whether what was found may stand above `path`, which is leaf first.
fn check_path(path: &[&Package], found: &Found) -> Result<(), SourceError> {
    let parents = match found {
        Found::Package(package) => std::slice::from_ref(&**package),
        Found::Bottom(lineage) => lineage.packages.as_slice(),
    };
    let names = |from: usize| {
        let path = path[from..].iter().copied().chain(parents.iter().rev());
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
