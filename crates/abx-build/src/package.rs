//! Packages of a lineage in, [`Member`]s out: reads and hashes the files that go into the image.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use abx_source::digest::special;
use abx_source::{Builtin, HEALTHCHECK, Lineage, Package, PackageRoot};
use abx_spec::{At, Place};
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use crate::error::BuildError;
use crate::key::hex;
use crate::member::Member;
use crate::tree::{Content, Entry, Node, Tree};

const FILES: &str = "files";
const SETUP: &str = "scripts/setup.sh";
/// Parts that stay with the image though no step asks for them.
const KEPT: [&str; 3] = ["commands.py", "commands", HEALTHCHECK];

/// Every member of the lineage, root first.
///
/// # Errors
/// A file that `build.copy` names but the package lacks, or one that cannot be read.
pub fn members(lineage: &Lineage) -> Result<Vec<Member>, BuildError> {
    lineage.packages.iter().map(member).collect()
}

fn member(package: &Package) -> Result<Member, BuildError> {
    if let PackageRoot::Stored { has_healthcheck } = package.root {
        let spec = package.spec.clone();
        return Ok(Member { spec, is_built: true, has_healthcheck, ..Member::default() });
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| BuildError::Package { path, source }
    };
    let mut left_out = Vec::new();
    let mut read = |path: &Path| tree(&package.root, path, &mut left_out).map_err(failed(path));
    let mut copies = Vec::with_capacity(package.spec.build.copy.len());
    for copy in &package.spec.build.copy {
        let tree = read(&copy.value.src)?.ok_or_else(|| BuildError::MissingFile {
            path: copy.value.src.display().to_string(),
            template: package.name.clone(),
            snippet: Some(Box::new(package.snippet(&copy.place))),
        })?;
        copies.push(tree);
    }
    let mut keep = Vec::new();
    for part in KEPT {
        let tree = read(Path::new(part))?.unwrap_or_default();
        keep.extend(tree.entries().iter().map(|entry| Entry {
            path: Path::new(part).components().chain(entry.path.components()).collect(),
            node: entry.node.clone(),
        }));
    }
    // It is called by its path.
    for entry in keep.iter_mut().filter(|entry| entry.path == Path::new(HEALTHCHECK)) {
        if let Node::File { executable, .. } = &mut entry.node {
            *executable = true;
        }
    }
    let files = read(Path::new(FILES))?.unwrap_or_default();
    Ok(Member {
        spec: package.spec.clone(),
        is_built: false,
        files,
        copies,
        script: script(package).map_err(failed(Path::new(SETUP)))?,
        keep: Tree::new(keep),
        left_out,
        has_healthcheck: package.has_healthcheck(),
    })
}

fn script(package: &Package) -> io::Result<Option<At<String>>> {
    let bytes = match &package.root {
        PackageRoot::Embedded(builtin) => builtin.file(SETUP).map(|file| file.content.to_vec()),
        // Nothing waits for the writer of a FIFO.
        PackageRoot::Dir(root) if !root.join(SETUP).is_file() => None,
        PackageRoot::Dir(root) => match std::fs::read(root.join(SETUP)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            bytes => Some(bytes?),
        },
        PackageRoot::Stored { .. } => None,
    };
    let Some(bytes) = bytes else { return Ok(None) };
    let value =
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let file = format!("{}/{SETUP}", package.display);
    Ok(Some(At { value, place: Place { file, line: 1, column: 1 } }))
}

/// What lies at `path` of a package; `None` where there is nothing.
fn tree(root: &PackageRoot, path: &Path, left_out: &mut Vec<String>) -> io::Result<Option<Tree>> {
    match root {
        PackageRoot::Embedded(builtin) => Ok(embedded(builtin, path)),
        PackageRoot::Dir(root) => on_disk(root, path, left_out),
        PackageRoot::Stored { .. } => Ok(None),
    }
}

fn embedded(builtin: &Builtin, path: &Path) -> Option<Tree> {
    let path: PathBuf =
        path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect();
    let mut entries = Vec::new();
    for file in builtin.files {
        let Ok(rest) = Path::new(file.path).strip_prefix(&path) else { continue };
        entries.extend(
            rest.ancestors()
                .skip(1)
                .filter(|directory| *directory != Path::new(""))
                .map(|directory| Entry { path: directory.to_owned(), node: Node::Directory }),
        );
        let node = Node::File {
            executable: file.executable,
            digest: hex(&Sha256::digest(file.content)),
            content: Content::Memory(Arc::from(file.content)),
        };
        entries.push(Entry { path: rest.to_owned(), node });
    }
    let mut tree = Tree::new(entries);
    tree.deduplicate();
    (!tree.is_empty()).then_some(tree)
}

fn on_disk(root: &Path, path: &Path, left_out: &mut Vec<String>) -> io::Result<Option<Tree>> {
    let start = match std::fs::canonicalize(root.join(path)) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        start => start?,
    };
    if !start.starts_with(root) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it leads out of the package"));
    }
    let mut entries = Vec::new();
    let walk = WalkDir::new(&start).sort_by_file_name();
    for entry in walk.into_iter().filter_entry(|entry| entry.file_name() != ".git") {
        let entry = entry?;
        let path = entry.path().strip_prefix(&start).unwrap_or(entry.path()).to_owned();
        let kind = entry.file_type();
        let node = if kind.is_dir() {
            Node::Directory
        } else if kind.is_symlink() {
            Node::Link { target: std::fs::read_link(entry.path())? }
        } else if kind.is_file() {
            Node::File {
                executable: entry.metadata()?.permissions().mode() & 0o111 != 0,
                digest: digest(entry.path())?,
                content: Content::Disk(entry.path().to_owned()),
            }
        } else {
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let what = special(kind).unwrap_or("no file");
            left_out.push(format!("{} was left out: it is {what}", path.display()));
            continue;
        };
        if !(path == Path::new("") && node == Node::Directory) {
            entries.push(Entry { path, node });
        }
    }
    Ok(Some(Tree::new(entries)))
}

fn digest(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(hex(&hasher.finalize()))
}
