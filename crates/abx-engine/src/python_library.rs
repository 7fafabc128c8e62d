//! The Python package `agent_sandbox`, carried within this program: what a template's `commands.py` imports, and the
//! service that calls it.
//!
//! It is bound into every sandbox, read-only, at [`private::LIBRARY`](abx_protocol::private::LIBRARY), where the
//! daemon inside puts it last on Python's path. So it costs a sandbox one mount and no memory, is in no image, and an
//! installed package of that name stands.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use abx_core::Home;
use abx_core::fs::Staging;
use abx_isolate::Bind;
use abx_protocol::private::LIBRARY;

/// Begins with its digest's first half, so that another version lies beside it.
const NAME: &str = concat!("abx-python-", env!("ABX_PYTHON_DIGEST"));
const FILE_MODE: u32 = 0o444;
const DIRECTORY_MODE: u32 = 0o755;

/// Its files: path and content.
pub fn files() -> &'static [(&'static str, &'static str)] {
    include!(env!("ABX_PYTHON_LIBRARY"))
}

/// The mount that brings it into a sandbox. It lies as files in `store/tools/abx-python-<digest>`, written there
/// once.
///
/// # Errors
/// It cannot be written there.
pub fn bind(home: &Home) -> io::Result<Bind> {
    Ok(Bind { source: installed(home)?, target: LIBRARY.into(), read_only: true, optional: false })
}

fn installed(home: &Home) -> io::Result<PathBuf> {
    let path = home.store("tools").join(NAME);
    if path.is_dir() {
        return Ok(path);
    }
    let staging = Staging::new(&home.store("staging"))?;
    let root = staging.path().join(NAME);
    make_directory(&root)?;
    for (name, content) in files() {
        write(&root, Path::new(name), content)?;
    }
    staging.publish(NAME, &path)?;
    Ok(path)
}

/// Whoever is in a sandbox may read it, whatever this process masks.
fn write(root: &Path, name: &Path, content: &str) -> io::Result<()> {
    let mut directories: Vec<&Path> = name.ancestors().skip(1).collect();
    directories.reverse();
    for directory in directories {
        make_directory(&root.join(directory))?;
    }
    let path = root.join(name);
    fs::write(&path, content)?;
    fs::set_permissions(path, Permissions::from_mode(FILE_MODE))
}

fn make_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_once_for_everybody_to_read() {
        let directory = tempfile::tempdir().expect("tempdir");
        let home = Home::new(directory.path());
        let bind = bind(&home).expect("written");
        assert_eq!(super::bind(&home).expect("again"), bind);
        assert!(bind.read_only && bind.source.ends_with(NAME));
        assert!(files().iter().any(|(name, _)| *name == "agent_sandbox/server/__init__.py"));
        for (name, content) in files() {
            let path = bind.source.join(name);
            assert_eq!(fs::read_to_string(&path).expect(name), *content);
            assert_eq!(path.metadata().expect(name).permissions().mode() & 0o777, FILE_MODE, "{name}");
        }
        assert!(!bind.source.join("agent_sandbox/__init__.py").exists(), "an installed package must stand");
        assert_eq!(fs::read_dir(home.store("staging")).expect("list").count(), 0);
    }
}
