//! A new template to begin with.

mod scaffold;

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use abx_core::Progress;
use abx_reference::Reference;
use abx_source::SourceError;
use serde::Serialize;

use crate::{Context, Error, FetchOptions};

/// What a template begins with where nobody says.
const PARENT: &str = "python-base";

/// What to begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitRequest {
    /// The folder to make, whose last part names the template.
    pub folder: PathBuf,
    /// The template it inherits from; `python-base` where nothing defines the image.
    pub from: Option<String>,
    /// A Dockerfile to define the image with.
    pub dockerfile: Option<PathBuf>,
}

/// A template that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Begun {
    pub name: String,
    /// Its folder, as a reference.
    pub reference: String,
    /// Its files, below that.
    pub files: Vec<String>,
    /// What is still to be put right, where the Dockerfile names files that are not there.
    pub missing: Vec<String>,
}

/// Writes a template that validates, builds and passes its own tests. What is there already stays as it is.
///
/// # Errors
/// E2005 for a name that cannot be a template's; E4000 where the folder has something in it; whatever resolving the
/// parent reports.
pub async fn init(
    context: &Context,
    request: &InitRequest,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Begun, Error> {
    let name = request.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    abx_source::check_local_name(&name, "latest")?;
    let folder = context.cwd.join(&request.folder);
    refuse_occupied(&folder, &request.folder)?;
    let dockerfile = request.dockerfile.as_ref().map(|path| context.cwd.join(path));
    let dockerfile =
        dockerfile.map(|path| std::fs::read(&path).map_err(Error::package_file(&path))).transpose()?;
    let base = match (&request.from, &dockerfile) {
        (None, Some(_)) => None,
        (from, _) => {
            Some(parent(context, from.as_deref().unwrap_or(PARENT), request, options, progress).await?)
        }
    };
    let files = scaffold::files(&name, base.as_deref(), dockerfile);
    for file in &files {
        write(&folder.join(file.path), file).map_err(Error::package_file(&folder.join(file.path)))?;
    }
    let reference = reference(&request.folder);
    let missing = match abx_source::validate(&reference, &context.source()) {
        Err(error) => complaints(&error),
        Ok(_) => Vec::new(),
    };
    let files = files.iter().map(|file| file.path.to_owned()).collect();
    Ok(Begun { name, reference, files, missing })
}

/// A folder that is empty may be filled.
fn refuse_occupied(folder: &Path, display: &Path) -> Result<(), Error> {
    match folder.read_dir() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            Err(Error::Occupied { path: display.to_owned() })
        }
        entries => match entries.map_err(Error::package_file(folder))?.next() {
            None => Ok(()),
            Some(_) => Err(Error::Occupied { path: display.to_owned() }),
        },
    }
}

/// The parent as the new template names it, once it is known to be one.
async fn parent(
    context: &Context,
    from: &str,
    request: &InitRequest,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<String, Error> {
    let source = super::fetch(context, from, options, progress).await?;
    abx_source::resolve(from, &source)?;
    let parsed = Reference::parse(from).map_err(SourceError::from)?;
    Ok(match &parsed {
        // It is seen from the template's folder now.
        Reference::Local(path) if path.is_relative() => {
            relative(&context.cwd.join(&request.folder), &context.cwd.join(path.as_str()))
        }
        _ => from.to_owned(),
    })
}

/// The way from one folder to another, as a reference.
fn relative(from: &Path, to: &Path) -> String {
    let (from, to) = (parts(from), parts(to));
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = vec!["..".to_owned(); from.len() - shared];
    let way: Vec<String> = up.into_iter().chain(to[shared..].iter().cloned()).collect();
    if way.first().is_some_and(|first| first == "..") {
        way.join("/")
    } else {
        format!("./{}", way.join("/"))
    }
}

/// The folders of an absolute path.
fn parts(path: &Path) -> Vec<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => drop(parts.pop()),
            _ => {}
        }
    }
    parts
}

fn write(path: &Path, file: &scaffold::ScaffoldFile) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, &file.content)?;
    if file.is_executable {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755))?;
    }
    Ok(())
}

fn reference(folder: &Path) -> String {
    let text = folder.display().to_string();
    let is_path = text.starts_with(['/', '~']) || text.starts_with("./") || text.starts_with("../");
    if is_path { text } else { format!("./{text}") }
}

/// Everything that is wrong, a line each.
fn complaints(error: &dyn abx_core::Fault) -> Vec<String> {
    let line = |fault: &dyn abx_core::Fault| match fault.snippets().first() {
        Some(at) => format!("{}:{}: {fault}", at.file, at.line),
        None => fault.to_string(),
    };
    std::iter::once(line(error)).chain(error.others().into_iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_parent() {
        let rows = [
            ("/w/new", "/w/./m1", "../m1"),
            ("/w/a/../x/new", "/w/m1", "../../m1"),
            ("/w/../new", "/w/m1", "../w/m1"),
            ("/w/new", "/w/new/inner", "./inner"),
            ("/w/new", "/w", ".."),
        ];
        for (from, to, expected) in rows {
            assert_eq!(relative(Path::new(from), Path::new(to)), expected, "{from} {to}");
        }
    }
}
