//! A package of an older form, rewritten in its place.

use std::io;
use std::path::{Path, PathBuf};

use abx_core::fs::write_durable;
use serde::Serialize;

use crate::{Context, Error};

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Migration {
    /// The package's file, in the full form now.
    pub file: PathBuf,
    /// The older file, kept beside it.
    pub kept: PathBuf,
    /// The file with the custom commands, where there were any.
    pub commands_file: Option<PathBuf>,
    /// Their names.
    pub commands: Vec<String>,
    /// Whether comments are in the older file only.
    pub loses_comments: bool,
}

/// Rewrites the file of the package at `path` (its folder or the file itself) in the full form; custom commands become
/// functions of a `commands.py`. `None` where the file has that form already.
///
/// # Errors
/// Faults of the file (E2004) and a `commands.py` that is there already; nothing is written then.
pub fn migrate(context: &Context, path: &Path) -> Result<Option<Migration>, Error> {
    // Without the dots of a relative path.
    let file: PathBuf = file_of(&context.cwd.join(path)).components().collect();
    let shown = file.strip_prefix(&context.cwd).unwrap_or(&file).display().to_string();
    let text = std::fs::read_to_string(&file).map_err(Error::package_file(&file))?;
    let Some(migrated) = abx_spec::migrate(&text, &shown).map_err(abx_source::SourceError::from)? else {
        return Ok(None);
    };
    let commands_file = file.with_file_name("commands.py");
    if migrated.commands.is_some() && commands_file.exists() {
        return Err(Error::package_file(&commands_file)(io::ErrorKind::AlreadyExists.into()));
    }
    let mut kept = file.clone().into_os_string();
    kept.push(".orig");
    let kept = PathBuf::from(kept);
    let write =
        |path: &Path, text: &str| write_durable(path, text.as_bytes()).map_err(Error::package_file(path));
    write(&kept, &text)?;
    if let Some(commands) = &migrated.commands {
        write(&commands_file, commands)?;
    }
    write(&file, &migrated.template)?;
    Ok(Some(Migration {
        file,
        kept,
        commands_file: migrated.commands.map(|_| commands_file),
        commands: migrated.names,
        loses_comments: migrated.loses_comments,
    }))
}

/// The file that a path to a package means.
fn file_of(path: &Path) -> PathBuf {
    if !path.is_dir() {
        return path.to_owned();
    }
    let older = path.join("sandbox.yaml");
    if older.is_file() { older } else { path.join("template.yaml") }
}
