//! Copying files of a package into an image.

use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};

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
    // As the image resolves it: a link in between must not give root's files away.
    let workdir = canvas.view().real(workdir)?;
    let mut owners = Owners { canvas, workdir, user, known: HashMap::new() };
    if !tree.is_single() {
        owners.inside(&target)?;
    }
    for entry in tree.entries() {
        let path = match entry.path.as_os_str().is_empty() {
            true => target.clone(),
            false => target.join(&entry.path),
        };
        let owner = owners.inside(path.parent().unwrap_or(Path::new("/")))?;
        match &entry.node {
            Node::Directory => drop(canvas.directory(&path, 0o755, owner)?),
            Node::Link { target } => canvas.link(&path, target, owner)?,
            Node::File { executable, digest, content } => {
                let mode = if *executable { 0o755 } else { 0o644 };
                match content {
                    Content::Disk(source) => {
                        let copied = canvas.copy(&path, source, mode, owner)?;
                        // The key stands for the content that was hashed.
                        if copied != *digest {
                            return Err(changed(source));
                        }
                    }
                    Content::Memory(bytes) => canvas.file(&path, bytes, mode, owner)?,
                }
            }
        }
    }
    Ok(())
}

/// An absolute path with `.` and `..` resolved by the text alone.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::from("/"), |mut plain, part| {
        match part {
            Component::Normal(part) => plain.push(part),
            Component::ParentDir => drop(plain.pop()),
            _ => {}
        }
        plain
    })
}

/// To whom things belong, by the directory they are in.
struct Owners<'a> {
    canvas: &'a Canvas,
    /// The workdir, without links.
    workdir: PathBuf,
    user: Owner,
    known: HashMap<PathBuf, Owner>,
}

impl Owners<'_> {
    /// To whom belongs what lies in `directory`. That is made where it is missing, with its parents, each
    /// with the owner its own place asks for.
    fn inside(&mut self, directory: &Path) -> io::Result<Owner> {
        if let Some(owner) = self.known.get(directory) {
            return Ok(*owner);
        }
        let own = match directory.parent() {
            Some(parent) => self.inside(parent)?,
            None => Owner::ROOT,
        };
        let made = self.canvas.directory(directory, 0o755, own)?;
        let is_below = self.workdir != Path::new("/") && made.inside.starts_with(&self.workdir);
        let owner = if is_below { self.user } else { Owner::ROOT };
        self.known.insert(directory.to_owned(), owner);
        Ok(owner)
    }
}

fn changed(source: &Path) -> io::Error {
    io::Error::other(format!("{} changed while it was being copied", source.display()))
}

fn target(
    canvas: &Canvas,
    tree: &Tree,
    source_name: &str,
    dest: &str,
    workdir: &Path,
) -> io::Result<PathBuf> {
    let target = without_dots(&workdir.join(dest));
    if !tree.is_single() {
        return Ok(target);
    }
    let into = dest.is_empty()
        || dest == "."
        || dest.ends_with('/')
        || canvas.view().find(&target)?.is_some_and(|found| found.metadata.is_dir());
    Ok(if into { target.join(source_name) } else { target })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;
    use crate::tree::Entry;
    use crate::view::View;

    fn file(path: &str, executable: bool) -> Entry {
        let content = Content::Memory(path.as_bytes().into());
        Entry { path: path.into(), node: Node::File { executable, digest: String::new(), content } }
    }

    /// Copies to `dest`, and returns each file with its owner and mode, in order.
    fn copied(tree: &Tree, source: &str, dest: &str) -> Option<Vec<(String, u32, u32)>> {
        use std::io::Write;
        if !rustix::process::geteuid().is_root() {
            let _ = writeln!(io::stderr(), "skipped: giving files away needs root");
            return None;
        }
        let dir = tempfile::tempdir().expect("tempdir");
        let (lower, upper) = (dir.path().join("lower"), dir.path().join("upper"));
        for path in ["lower/app/there", "lower/etc", "upper"] {
            std::fs::create_dir_all(dir.path().join(path)).expect("mkdir");
        }
        symlink("/etc", lower.join("app/out")).expect("link");
        let user = Owner { uid: 1000, gid: 1000 };
        let canvas = Canvas::new(&View::new(vec![lower]), &upper);
        copy(&canvas, tree, source, dest, Path::new("/app"), user).expect("copy");
        let files = walkdir::WalkDir::new(&upper).sort_by_file_name().into_iter().filter_map(|entry| {
            let entry = entry.expect("entry");
            let metadata = entry.metadata().expect("metadata");
            let path = entry.path().strip_prefix(&upper).expect("below").display().to_string();
            (!metadata.is_dir()).then(|| (path, metadata.uid(), metadata.mode() & 0o7777))
        });
        Some(files.collect())
    }

    #[test]
    fn destinations_and_owners() {
        let single = Tree::new(vec![file("", true)]);
        let many = Tree::new(vec![file("a", false), file("d/b", true)]);
        type File = (&'static str, u32, u32);
        let rows: [(&Tree, &str, &str, &[File]); 9] = [
            (&single, "x.sh", "/usr/local/bin/tool", &[("usr/local/bin/tool", 0, 0o755)]),
            (&single, "x.sh", "/opt/", &[("opt/x.sh", 0, 0o755)]),
            (&single, "x.sh", "there", &[("app/there/x.sh", 1000, 0o755)]),
            (&single, "x.sh", "./new", &[("app/new", 1000, 0o755)]),
            (&single, "x.sh", "../../opt/./x", &[("opt/x", 0, 0o755)]),
            (&single, "x.sh", ".", &[("app/x.sh", 1000, 0o755)]),
            (&many, "", "/app/config/", &[("app/config/a", 1000, 0o644), ("app/config/d/b", 1000, 0o755)]),
            (&many, "", "/etc/config", &[("etc/config/a", 0, 0o644), ("etc/config/d/b", 0, 0o755)]),
            (&many, "", "out", &[("etc/a", 0, 0o644), ("etc/d/b", 0, 0o755)]),
        ];
        for (tree, source, dest, expected) in rows {
            let Some(files) = copied(tree, source, dest) else { return };
            let expected: Vec<_> =
                expected.iter().map(|&(path, uid, mode)| (path.to_owned(), uid, mode)).collect();
            assert_eq!(files, expected, "{dest}");
        }
    }
}
