//! Packages in directories of this machine.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use abx_core::Fault;
use abx_reference::name::check_name;
use abx_spec::{Base, Diagnostic, Examined, Invalid, Place, Problem};

use crate::archive::ArchiveFault;
use crate::dockerfile::{self, Declared, Dockerfile, DockerfileFault, DockerfileOptions, Origin};
use crate::{Faults, Package, PackageRoot, SourceContext, SourceError, check, local_archive};

/// What people call the file by mistake.
const LIKE_TEMPLATE: &[&str] =
    &["template.yml", "sandbox.yml", "Template.yaml", "Sandbox.yaml", "template.yaml.txt", "template.json"];

/// The file of a package.
const FILES: [&str; 2] = ["template.yaml", "sandbox.yaml"];

/// How a package is asked for.
pub(crate) struct Asking<'a> {
    pub(crate) context: &'a SourceContext,
    /// Whether it is the template that the caller names, whose Dockerfile takes the caller's arguments.
    pub(crate) is_asked: bool,
    /// Whether it is somebody else's: a template of others has its template.yaml.
    pub(crate) is_remote: bool,
}

impl Asking<'_> {
    /// The caller's wishes for its Dockerfile.
    fn options(&self) -> DockerfileOptions {
        if self.is_asked { self.context.dockerfile.clone() } else { DockerfileOptions::default() }
    }
}

/// Reads the package in `directory`; `display` is how the user knows it. The file itself in the place of its
/// directory will do.
pub(crate) fn read(directory: &Path, display: &str, asking: &Asking<'_>) -> Result<Package, SourceError> {
    for file in FILES.iter().chain(&dockerfile::NAMES) {
        if directory.ends_with(file) && directory.is_file() {
            let display = display.strip_suffix(file).map_or(display, |rest| rest.trim_end_matches('/'));
            let display = if display.is_empty() { "." } else { display };
            return read_directory(directory.parent().unwrap_or(directory), display, asking);
        }
    }
    read_directory(directory, display, asking)
}

fn read_directory(directory: &Path, display: &str, asking: &Asking<'_>) -> Result<Package, SourceError> {
    let root = match directory.canonicalize() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(SourceError::NoDirectory { display: display.to_owned() });
        }
        root => root.map_err(SourceError::io("read", directory))?,
    };
    if !root.is_dir() {
        return Err(not_directory(&root, display));
    }
    let named = match (file_name(&root, display)?, dockerfile::read::name(&root)) {
        (Some(file), _) => named(&root, file, display)?,
        (None, Some(file)) => alone(&root, file, display, asking)?,
        (None, None) => {
            let like = LIKE_TEMPLATE.iter().find(|name| root.join(name).is_file());
            let like = like.map(|&name| name.to_owned());
            return Err(SourceError::NoTemplate { display: display.to_owned(), like });
        }
    };
    let Named { file, text, is_alone } = named;
    let Examined { spec, mut faults, warnings, .. } = abx_spec::examine(&text, &file, &asking.context.limits);
    faults.extend(check::sources(&root, &spec, &text));
    let found = dockerfile::read::name(&root)
        .map(|name| dockerfile::read::read(&root, name, display, &asking.options(), asking.context))
        .transpose()?;
    if found.is_none() && faults.is_empty() && spec.base.is_none() {
        faults.push(Diagnostic::new(Problem::Missing { key: "base" }, &text, &Place::start_of(&file), 1));
    }
    let mut package = Package {
        name: spec.metadata.name.clone(),
        committed: asking.context.checkout_of(&root).and_then(|checkout| checkout.committed),
        root: PackageRoot::Dir(root),
        spec,
        dockerfile: None,
        declared: Declared::default(),
        warnings,
        display: display.to_owned(),
        file,
        text,
    };
    if let Some(found) = found {
        let found = sound(found, &package, faults)?;
        package.defined_by(Dockerfile { is_alone, ..found });
    } else if let Some(invalid) = Invalid::new(faults) {
        return Err(invalid.into());
    }
    Ok(package)
}

/// The text of a package's file, and how messages call that.
struct Named {
    file: String,
    text: String,
    /// Whether there is no such file, but a Dockerfile.
    is_alone: bool,
}

fn named(root: &Path, file: &str, display: &str) -> Result<Named, SourceError> {
    let path = root.join(file);
    let file = format!("{}/{file}", display.trim_end_matches('/'));
    let bytes = read_capped(&path).map_err(SourceError::io("read", &path))?;
    let text = String::from_utf8(bytes).map_err(|error| SourceError::not_text(&file, &error))?;
    Ok(Named { file, text, is_alone: false })
}

/// What a Dockerfile without a template.yaml stands for.
fn alone(root: &Path, file: &str, display: &str, asking: &Asking<'_>) -> Result<Named, SourceError> {
    if asking.is_remote {
        return Err(SourceError::DockerfileAlone { display: display.to_owned() });
    }
    let folder = || root.file_name().and_then(|name| name.to_str()).map(as_name);
    let name = asking.options().name.or_else(folder).filter(|name| check_name(name).is_ok());
    let name = name.ok_or_else(|| SourceError::NoName { display: display.to_owned() })?;
    let file = format!("{}/{file}", display.trim_end_matches('/'));
    let text = format!("version: \"1\"\nmetadata:\n  name: \"{name}\"\n");
    Ok(Named { file, text, is_alone: true })
}

/// `My App` is `my-app`.
fn as_name(folder: &str) -> String {
    let letter = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9' | '.' | '_' | '-') => letter,
        _ => '-',
    };
    folder.chars().map(letter).collect::<String>().trim_matches(['-', '.', '_']).to_owned()
}

/// The Dockerfile, unless something is wrong with it or the file beside it: then all of that.
fn sound(
    found: dockerfile::read::Outcome,
    package: &Package,
    faults: Vec<Diagnostic>,
) -> Result<Dockerfile, SourceError> {
    let stated = Invalid::new(faults);
    let mut all: Vec<Box<dyn Fault>> = Vec::new();
    let diagnostics = stated.iter().flat_map(Invalid::diagnostics);
    all.extend(diagnostics.map(|fault| Box::new(fault.clone()) as Box<dyn Fault>));
    let found = match found {
        Ok(found) => {
            let differs = differs(&found, package).filter(|_| all.is_empty());
            all.extend(differs.map(|fault| Box::new(fault) as Box<dyn Fault>));
            Some(found)
        }
        Err(faults) => {
            all.extend(faults);
            None
        }
    };
    match (Faults::new(all), found) {
        (None, Some(found)) => Ok(found),
        (Some(faults), _) => Err(faults.into()),
        (None, None) => Err(SourceError::NoTemplate { display: package.display.clone(), like: None }),
    }
}

/// That the image is defined twice, each time another way.
fn differs(found: &Dockerfile, package: &Package) -> Option<DockerfileFault> {
    let base = package.spec.base.as_ref()?;
    if found.origin.is_that_of(base) {
        return None;
    }
    let (Base::Image(at) | Base::From(at) | Base::Either(at)) = base;
    let begins = match &found.origin {
        Origin::Scratch => "`scratch`".to_owned(),
        Origin::Image(name) => format!("the image `{name}`"),
        Origin::Template { name, .. } => format!("the template `{name}`"),
    };
    let (stated, from) = (Box::new(package.snippet(&at.place)), Box::new(found.from()));
    Some(DockerfileFault::BaseDiffers { begins, stated, from })
}

/// The file, or so much of it that its size is seen to be out of bounds.
pub(crate) fn read_capped(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(abx_spec::limits::FILE_BYTES as u64 + 4).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a path is called as archives are.
pub(crate) fn is_archive_name(path: &str) -> bool {
    [".tar.gz", ".tgz", ".zip", ".tar"].iter().any(|end| path.ends_with(end))
}

fn not_directory(path: &Path, display: &str) -> SourceError {
    let display = display.to_owned();
    let name = path.to_string_lossy();
    if local_archive::form_of(path).is_some() {
        return SourceError::Archive { display, fault: ArchiveFault::Nested };
    }
    if is_archive_name(&name) {
        SourceError::Archive { display, fault: ArchiveFault::NoArchive }
    } else {
        SourceError::NotDirectory { display }
    }
}

/// Whether a package can be here.
pub(crate) fn has_file(root: &Path) -> bool {
    FILES.iter().chain(&dockerfile::NAMES).any(|name| root.join(name).is_file())
}

/// `template.yaml`, or its older name; `None` where there is neither.
fn file_name(root: &Path, display: &str) -> Result<Option<&'static str>, SourceError> {
    match FILES.map(|name| root.join(name).is_file()) {
        [true, true] => Err(SourceError::BothFiles { display: display.to_owned() }),
        [true, false] => Ok(Some(FILES[0])),
        [false, true] => Ok(Some(FILES[1])),
        [false, false] => Ok(None),
    }
}
