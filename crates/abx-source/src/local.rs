//! Packages in directories of this machine.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use abx_spec::{Bounds, Diagnostic, Examined, Invalid, Place, Problem, Spec};

use crate::archive::ArchiveFault;
use crate::{Package, PackageRoot, SourceError, check, local_archive};

/// Names of Dockerfiles.
const DOCKERFILES: &[&str] = &["Dockerfile", "Containerfile"];
/// What people call the file by mistake.
const LIKE_TEMPLATE: &[&str] =
    &["template.yml", "sandbox.yml", "Template.yaml", "Sandbox.yaml", "template.yaml.txt", "template.json"];

/// The file of a package.
const FILES: [&str; 2] = ["template.yaml", "sandbox.yaml"];

/// Reads the package in `directory`; `display` is how the user knows it. The file itself in the place of its
/// directory will do.
pub(crate) fn read(directory: &Path, display: &str, bounds: &Bounds) -> Result<Package, SourceError> {
    for file in FILES {
        if directory.ends_with(file) && directory.is_file() {
            let display = display.strip_suffix(file).map_or(display, |rest| rest.trim_end_matches('/'));
            let display = if display.is_empty() { "." } else { display };
            return read_directory(directory.parent().unwrap_or(directory), display, bounds);
        }
    }
    read_directory(directory, display, bounds)
}

fn read_directory(directory: &Path, display: &str, bounds: &Bounds) -> Result<Package, SourceError> {
    let root = match directory.canonicalize() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(SourceError::NoDirectory { display: display.to_owned() });
        }
        root => root.map_err(SourceError::io("read", directory))?,
    };
    if !root.is_dir() {
        return Err(not_directory(&root, display));
    }
    let file_name = file_name(&root, display)?;
    let path = root.join(file_name);
    let file = format!("{}/{file_name}", display.trim_end_matches('/'));
    let bytes = read_capped(&path).map_err(SourceError::io("read", &path))?;
    let text = String::from_utf8(bytes).map_err(|_| SourceError::NotText { file: file.clone() })?;
    let Examined { spec, mut faults, warnings, .. } = abx_spec::examine(&text, &file, bounds);
    faults.extend(check::sources(&root, &spec, &text));
    if faults.is_empty() {
        faults.extend(base(&root, display, &spec, &text, &file)?);
    }
    if let Some(invalid) = Invalid::new(faults) {
        return Err(invalid.into());
    }
    Ok(Package {
        name: spec.metadata.name.clone(),
        root: PackageRoot::Dir(root),
        spec,
        warnings,
        display: display.to_owned(),
        file,
        text,
    })
}

/// The file, or so much of it that its size is seen to be out of bounds.
fn read_capped(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(abx_spec::limits::FILE_BYTES as u64 + 4).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn not_directory(path: &Path, display: &str) -> SourceError {
    let display = display.to_owned();
    let name = path.to_string_lossy();
    if local_archive::form_of(path).is_some() {
        return SourceError::Archive { display, fault: ArchiveFault::Nested };
    }
    if [".tar.gz", ".tgz", ".zip", ".tar"].iter().any(|end| name.ends_with(end)) {
        SourceError::Archive { display, fault: ArchiveFault::NoArchive }
    } else {
        SourceError::NotDirectory { display }
    }
}

/// Whether a package can be here.
pub(crate) fn has_file(root: &Path) -> bool {
    FILES.iter().chain(DOCKERFILES).any(|name| root.join(name).is_file())
}

/// `template.yaml`, or its older name.
fn file_name(root: &Path, display: &str) -> Result<&'static str, SourceError> {
    let has = |name: &str| root.join(name).is_file();
    let display = display.to_owned();
    match (has("template.yaml"), has("sandbox.yaml")) {
        (true, true) => Err(SourceError::BothFiles { display }),
        (true, false) => Ok("template.yaml"),
        (false, true) => Ok("sandbox.yaml"),
        (false, false) if has_dockerfile(root) => Err(SourceError::Dockerfile { display }),
        (false, false) => {
            let like = LIKE_TEMPLATE.iter().find(|name| has(name)).map(|&name| name.to_owned());
            Err(SourceError::NoTemplate { display, like })
        }
    }
}

fn has_dockerfile(root: &Path) -> bool {
    DOCKERFILES.iter().any(|name| root.join(name).is_file())
}

/// The image is defined exactly once: by `base`, or by a Dockerfile.
fn base(
    root: &Path,
    display: &str,
    spec: &Spec,
    text: &str,
    file: &str,
) -> Result<Option<Diagnostic>, SourceError> {
    if has_dockerfile(root) {
        return Err(SourceError::Dockerfile { display: display.to_owned() });
    }
    let missing = || Diagnostic::new(Problem::Missing { key: "base" }, text, &Place::start_of(file), 1);
    Ok(spec.base.is_none().then(missing))
}
