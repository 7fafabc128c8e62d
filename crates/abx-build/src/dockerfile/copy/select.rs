//! The words of `COPY` → the files they mean.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use abx_dockerfile::{Glob, Ignore};
use rustix::fs::Timespec;

use super::files::{Item, Node, Root};
use crate::canvas::Owner;
use crate::dockerfile::refusal::Refusal;
use crate::view::names;

/// What one source comes to.
#[derive(Debug)]
pub(super) struct Source {
    /// The name it keeps in a directory.
    pub(super) name: OsString,
    /// The item with an empty path first, where it is one file or one directory. With `--parents` paths are those
    /// below the destination.
    pub(super) items: Vec<Item>,
    /// Whether it is one file, to be unpacked.
    pub(super) is_archive: bool,
}

impl Source {
    /// A file that is no part of a directory tree.
    pub(super) fn file(name: &str, node: Node, host: PathBuf, mode: u32, time: Option<Timespec>) -> Self {
        let (path, owner, xattrs) = (PathBuf::new(), Owner::ROOT, Vec::new());
        let item = Item { path, host, node, mode, owner, time, xattrs, inode: None, stamp: None };
        Self { name: name.into(), items: vec![item], is_archive: false }
    }

    pub(super) fn is_file(&self) -> bool {
        matches!(&self.items[..], [item] if matches!(item.node, Node::File { .. }))
    }

    pub(super) fn is_directory(&self) -> bool {
        self.items.first().is_some_and(|item| item.node == Node::Directory)
    }
}

/// The files `word` means; several where it is a pattern, in the order of their names.
pub(super) fn sources(root: &Root<'_>, word: &str, exclude: &Ignore) -> Result<Vec<Source>, Refusal> {
    let path = cleaned(word);
    let is_pattern = is_pattern(word);
    let paths = if is_pattern { matching(root, &path)? } else { vec![path] };
    let mut sources = Vec::new();
    for path in paths {
        let items = root.items(&path, exclude)?;
        if items.is_empty() && !is_pattern {
            return Err(missing(root, word, &path, exclude));
        }
        if !items.is_empty() {
            sources.push(Source {
                name: path.file_name().unwrap_or_default().to_owned(),
                items,
                is_archive: false,
            });
        }
    }
    Ok(sources)
}

/// `--parents`: the files `word` means with the folders that lead to them, those before `/./` left out.
pub(super) fn with_parents(root: &Root<'_>, word: &str, exclude: &Ignore) -> Result<Source, Refusal> {
    let (pivot, rest) = word.split_once("/./").unwrap_or(("", word));
    let (pivot, rest) = (cleaned(pivot), cleaned(rest));
    let whole = rest.as_os_str().is_empty();
    let pattern = rest.display().to_string();
    let glob = Glob::new(&pattern).map_err(|problem| malformed(word, &problem))?;
    let items = root.items(&pivot, exclude)?;
    let mut kept: BTreeSet<PathBuf> = BTreeSet::new();
    for item in &items {
        let is_meant = |path: &Path| path == rest || glob.matches(&path.to_string_lossy());
        if whole || item.path.ancestors().any(is_meant) {
            kept.extend(item.path.ancestors().map(Path::to_owned));
        }
    }
    if kept.is_empty() && !is_pattern(word) {
        return Err(missing(root, word, &pivot.join(&rest), exclude));
    }
    let items = items.into_iter().filter(|item| kept.contains(&item.path)).collect();
    Ok(Source { name: OsString::new(), items, is_archive: false })
}

fn missing(root: &Root<'_>, word: &str, path: &Path, exclude: &Ignore) -> Refusal {
    let is_there = root.view.exists(path).unwrap_or_default();
    let (path, place) = (word.to_owned(), root.name.clone());
    let is_ours = root.is_context && exclude.is_empty();
    if is_there && is_ours { Refusal::Ignored { path } } else { Refusal::NoSource { path, place } }
}

/// The paths that match a pattern, part by part.
fn matching(root: &Root<'_>, pattern: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let mut paths = vec![PathBuf::new()];
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy();
        if !is_pattern(&text) {
            paths.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let glob =
            Glob::source(&text).map_err(|problem| malformed(&pattern.display().to_string(), &problem))?;
        let mut next = Vec::new();
        for path in paths {
            let unreadable =
                |source| Refusal::File { verb: "read", path: path.display().to_string(), source };
            let Some((found, directories)) = root.view.open(&path).map_err(unreadable)? else { continue };
            if !found.metadata.is_dir() {
                continue;
            }
            let names = names(&directories).map_err(unreadable)?;
            let fitting = names.iter().filter(|name| glob.matches(&name.to_string_lossy()));
            next.extend(fitting.map(|name| path.join(name)).filter(|path| root.shows(path)));
        }
        paths = next;
    }
    paths.retain(|path| root.view.exists(path).unwrap_or_default());
    Ok(paths)
}

fn malformed(pattern: &str, problem: &abx_dockerfile::Problem) -> Refusal {
    Refusal::Pattern { pattern: pattern.to_owned(), reason: problem.to_string() }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '\\'])
}

/// A path below the root; `..` stops there.
pub(in crate::dockerfile) fn cleaned(path: &str) -> PathBuf {
    let plain = crate::copy::without_dots(Path::new(path));
    plain.strip_prefix("/").unwrap_or(&plain).to_owned()
}
