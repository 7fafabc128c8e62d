//! The tests a package brings along: `tests/*.yaml`.

use std::io::ErrorKind;
use std::path::Path;

use abx_core::Fault;
use abx_spec::Suite;

use crate::faults::Faults;
use crate::local::read_capped;
use crate::{Package, PackageRoot, SourceError};

/// Where a package has them.
pub const TESTS: &str = "tests";

/// One file of tests.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteFile {
    /// Relative to the package: `tests/tools.yaml`.
    pub path: String,
    /// As the user knows it: `./mine/tests/tools.yaml`, `tests/tools.yaml of base`.
    pub display: String,
    pub suite: Suite,
}

/// Reads the tests of a package, in the order of their files' names. A package of which nothing but the image is at hand
/// has none.
///
/// # Errors
/// Every fault of every file at once.
pub fn suites(package: &Package) -> Result<Vec<SuiteFile>, SourceError> {
    let mut faults: Vec<Box<dyn Fault>> = Vec::new();
    let mut suites = Vec::new();
    for (path, text) in texts(package)? {
        let display = display(package, &path);
        match abx_spec::suite::parse(&text, &display) {
            Ok(suite) => suites.push(SuiteFile { path, display, suite }),
            Err(invalid) => faults.push(Box::new(invalid)),
        }
    }
    match Faults::new(faults) {
        Some(faults) => Err(faults.into()),
        None => Ok(suites),
    }
}

fn display(package: &Package, path: &str) -> String {
    match package.root {
        PackageRoot::Dir(_) => format!("{}/{path}", package.display.trim_end_matches('/')),
        _ => format!("{path} of {}", package.display),
    }
}

/// Paths and texts.
fn texts(package: &Package) -> Result<Vec<(String, String)>, SourceError> {
    let text = |path: &str, bytes: Vec<u8>| {
        String::from_utf8(bytes).map_err(|error| SourceError::not_text(&display(package, path), &error))
    };
    match &package.root {
        PackageRoot::Stored { .. } => Ok(Vec::new()),
        PackageRoot::Embedded(builtin) => {
            let tests = builtin.files.iter().filter(|file| is_suite(Path::new(file.path)));
            tests.map(|file| Ok((file.path.to_owned(), text(file.path, file.content.to_vec())?))).collect()
        }
        PackageRoot::Dir(root) => {
            let read = |path: String| {
                let file = root.join(&path);
                let bytes = read_capped(&file).map_err(SourceError::io("read", &file))?;
                Ok((path.clone(), text(&path, bytes)?))
            };
            names(root)?.into_iter().map(read).collect()
        }
    }
}

fn names(root: &Path) -> Result<Vec<String>, SourceError> {
    let folder = root.join(TESTS);
    let entries = match folder.read_dir() {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries.map_err(SourceError::io("read", &folder))?,
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(format!("{TESTS}/{}", entry.ok()?.file_name().to_str()?)))
        .filter(|path| is_suite(Path::new(path)) && root.join(path).is_file())
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// Whether a path is `tests/*.yaml`.
fn is_suite(path: &Path) -> bool {
    path.parent() == Some(Path::new(TESTS))
        && path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}
