//! Copying files of a package into an image.

use std::io;
use std::path::{Path, PathBuf};

use crate::canvas::{Canvas, Owner};
use crate::tree::{Content, Node, Tree};

/// Copies `tree` to `dest`, relative to `workdir`. A directory's content goes into `dest`; a single file
/// becomes `dest`, or goes into it where that ends with `/` or is a directory. Modes are kept.
///
/// What comes to lie below the workdir belongs to `user`, all else to root.
pub(crate) fn copy(
    canvas: &Canvas,
    tree: &Tree,
    source_name: &str,
    dest: &str,
    workdir: &Path,
    user: Owner,
) -> io::Result<()> {
    let target = target(canvas, tree, source_name, dest, workdir)?;
    // Both sides as the image resolves them: a link in between must not give root's files away.
    let workdir = canvas.view().real(workdir)?;
    let owner = |path: &Path| -> io::Result<Owner> {
        let parent = canvas.view().real(path.parent().unwrap_or(path))?;
        Ok(if parent.starts_with(&workdir) && workdir != Path::new("/") { user } else { Owner::ROOT })
    };
    make_parents(canvas, &target, tree.is_single(), &owner)?;
    for entry in tree.entries() {
        let path = match entry.path.as_os_str().is_empty() {
            true => target.clone(),
            false => target.join(&entry.path),
        };
        let owner = owner(&path)?;
        match &entry.node {
            Node::Directory => drop(canvas.directory(&path, 0o755, owner)?),
            Node::Link { target } => canvas.link(&path, target, owner)?,
            Node::File { executable, content, .. } => {
                let mode = if *executable { 0o755 } else { 0o644 };
                match content {
                    Content::Disk(source) => canvas.copy(&path, source, mode, owner)?,
                    Content::Memory(bytes) => canvas.file(&path, bytes, mode, owner)?,
                }
            }
        }
    }
    Ok(())
}

fn target(
    canvas: &Canvas,
    tree: &Tree,
    source_name: &str,
    dest: &str,
    workdir: &Path,
) -> io::Result<PathBuf> {
    let target = workdir.join(dest.trim_start_matches("./"));
    if !tree.is_single() {
        return Ok(target);
    }
    let into = dest.is_empty()
        || dest == "."
        || dest.ends_with('/')
        || canvas.view().find(&target)?.is_some_and(|found| found.metadata.is_dir());
    Ok(if into { target.join(source_name) } else { target })
}

/// Makes the directories on the way, each with the owner its place asks for.
fn make_parents(
    canvas: &Canvas,
    target: &Path,
    is_single: bool,
    owner: &dyn Fn(&Path) -> io::Result<Owner>,
) -> io::Result<()> {
    let directory = if is_single { target.parent().unwrap_or(Path::new("/")) } else { target };
    let mut ancestors: Vec<&Path> = directory.ancestors().collect();
    ancestors.reverse();
    for ancestor in ancestors {
        if !canvas.view().exists(ancestor)? {
            canvas.directory(ancestor, 0o755, owner(ancestor)?)?;
        }
    }
    Ok(())
}
