//! A closer look than a build needs.

mod hint;
mod named;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use abx_core::Fault;
use abx_spec::{Diagnostic, Place, Problem};

use crate::digest::{self, is_executable};
use crate::dockerfile::reach;
use crate::{Lineage, Package, PackageRoot, SourceContext, SourceError, resolve};

/// So much of a script is looked at.
const SCRIPT_BYTES: u64 = 1 << 20;

/// A template that can be built.
#[derive(Clone, Debug)]
pub struct Report {
    pub lineage: Lineage,
    /// What is questionable in the template itself; its ancestors are not looked at again.
    pub warnings: Vec<Finding>,
    /// What could be better.
    pub hints: Vec<Finding>,
}

/// Something to say of a template, with its place.
pub type Finding = Arc<dyn Fault>;

/// Resolves a reference and looks for what would surprise later.
///
/// # Errors
/// What stands in the way of a build; of a file that means nothing, all of its faults at once.
pub fn validate(text: &str, context: &SourceContext) -> Result<Report, SourceError> {
    let lineage = resolve(text, context)?;
    let (mut warnings, mut hints) = (Vec::new(), Vec::new());
    let mut found: Vec<Finding> = Vec::new();
    if let Some(package) = lineage.leaf() {
        crate::suites(package)?;
        warnings.extend(package.warnings.clone());
        if let Some(dockerfile) = package.dockerfile.as_deref() {
            found.extend(dockerfile.file.warnings.iter().map(|it| Arc::new(it.clone()) as Finding));
        }
        hints.extend(hint::hints(&lineage, package).into_iter().map(|hint| Arc::new(hint) as Finding));
        if let (PackageRoot::Dir(root), Some(dockerfile)) = (&package.root, package.dockerfile.as_deref()) {
            let idle = reach::idle(root, dockerfile).map_err(SourceError::io("read", root))?;
            found.extend(idle.into_iter().map(|fault| Arc::new(fault) as Finding));
        }
        if let PackageRoot::Dir(root) = &package.root {
            let unusable = named::unusable(root).map_err(SourceError::io("read", root))?;
            found.extend(unusable.into_iter().map(|fault| Arc::new(fault) as Finding));
            // A copy of a repository or an archive is in no folder that anybody has named.
            let is_alone = package.dockerfile.as_ref().is_some_and(|dockerfile| dockerfile.is_alone);
            if !is_alone && context.bounds_of(root).is_none_or(|bounds| bounds.top != root) {
                warnings.extend(folder_name(root, package));
            }
            warnings.extend(left_out(root, package).map_err(SourceError::io("read", root))?);
            for path in scripts(root) {
                warnings.extend(script(root, &path).map_err(SourceError::io("read", &root.join(&path)))?);
            }
        }
    }
    let warnings = warnings.into_iter().map(|warning| Arc::new(warning) as Finding).chain(found).collect();
    Ok(Report { lineage, warnings, hints })
}

/// The scripts a build or a sandbox runs, and everything executable beside them by its ending.
fn scripts(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = root.join("scripts").read_dir() else { return Vec::new() };
    let mut scripts: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| Path::new("scripts").join(entry.file_name()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "sh"))
        .filter(|path| root.join(path).is_file())
        .collect();
    scripts.sort_unstable();
    scripts
}

fn script(root: &Path, path: &Path) -> io::Result<Vec<Diagnostic>> {
    let mut file = File::open(root.join(path))?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    file.by_ref().take(SCRIPT_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let path = path.display().to_string();
    let mut problems = Vec::new();
    if !is_executable(&metadata) {
        problems.push(Problem::NotExecutable { path: path.clone() });
    }
    if text.contains("\r\n") {
        problems.push(Problem::WindowsLineEnds { path: path.clone() });
    }
    if !text.starts_with("#!") {
        problems.push(Problem::NoShebang { path: path.clone() });
    }
    let place = Place::start_of(&path);
    Ok(problems.into_iter().map(|problem| Diagnostic::new(problem, &text, &place, 1)).collect())
}

/// What has a place among the package's files and no content.
fn left_out(root: &Path, package: &Package) -> io::Result<Vec<Diagnostic>> {
    let copies = package.spec.build.copy.iter().map(|copy| copy.value.src.as_path());
    let mut warnings = Vec::new();
    for path in digest::files(root, copies)? {
        if let Some(what) = digest::special(root.join(&path).symlink_metadata()?.file_type()) {
            let path = path.display().to_string();
            let place = Place::start_of(&path);
            warnings.push(Diagnostic::new(Problem::LeftOut { path, what }, "", &place, 1));
        }
    }
    Ok(warnings)
}

/// People find a template by its folder and use it by its name.
fn folder_name(root: &Path, package: &Package) -> Option<Diagnostic> {
    let folder = root.file_name()?.to_str()?.to_owned();
    if folder == package.name {
        return None;
    }
    let problem = Problem::FolderName { folder, name: package.name.clone() };
    let place = name_place(package);
    Some(Diagnostic::new(problem, &package.text, &place, package.name.chars().count()))
}

/// Where the file states its name: the first line with `name:` and the name in it.
fn name_place(package: &Package) -> Place {
    let start_of_name = |line: &str| {
        let key = line.find("name:")?;
        line[key..].find(&package.name).map(|at| key + at)
    };
    let found = package.text.lines().enumerate().find_map(|(index, line)| {
        let column = line[..start_of_name(line)?].chars().count() + 1;
        Some(Place { file: package.file.clone(), line: index + 1, column })
    });
    found.unwrap_or_else(|| Place::start_of(&package.file))
}
