//! `--mount`: what is looked up for the key, and what is laid out for the process.

use std::path::{Path, PathBuf};

use abx_core::fs::{Lock, Staging};
use abx_dockerfile::{Ignore, MountKind, Run, Sharing};
use abx_isolate::{Bind, Extras, Memory, SecretFile};

use crate::canvas::{Canvas, Owner};
use crate::dockerfile::copy::files::{self, Item, Node, Root};
use crate::dockerfile::copy::paint::Painter;
use crate::dockerfile::copy::select::cleaned;
use crate::dockerfile::copy::{context, origin};
use crate::dockerfile::refusal::Refusal;
use crate::dockerfile::stage::Stage;
use crate::env::{self, Env};
use crate::error::BuildError;
use crate::key::Hasher;
use crate::view::View;

/// Where secrets without a place of their own are.
const SECRETS: &str = "/run/secrets";

/// The mounts of one `RUN`, looked up.
pub(super) struct Mounts {
    mounts: Vec<Mount>,
}

enum Mount {
    Bind {
        target: String,
        files: Files,
        read_write: bool,
    },
    Cache {
        target: String,
        name: String,
        sharing: Sharing,
        files: Option<Files>,
        read_only: bool,
        mode: u32,
        owner: Owner,
    },
    Memory(Memory),
    Secret {
        target: Option<String>,
        env: Option<String>,
        id: String,
        mode: u32,
        owner: Owner,
        is_given: bool,
    },
}

/// Files to mount.
struct Files {
    items: Vec<Item>,
    /// Whether they are the store's own, which nobody writes to.
    is_stored: bool,
    /// What tells them from others.
    identity: String,
}

/// Mounts as a launch takes them. What holds them must live as long as the process.
#[derive(Default)]
pub(super) struct Laid {
    pub(super) binds: Vec<Bind>,
    pub(super) extras: Extras,
    pub(super) env: Env,
    kept: Vec<Staging>,
    locks: Vec<Lock>,
}

impl Mounts {
    pub(super) fn of(stage: &Stage<'_, '_>, run: &Run) -> Result<Self, Refusal> {
        let mounts = run.mounts.iter().map(|mount| look_up(stage, &mount.kind));
        Ok(Self { mounts: mounts.collect::<Result<_, _>>()? })
    }

    pub(super) fn hash(&self, hasher: Hasher) -> Hasher {
        let counted = hasher.number(self.mounts.len() as u64);
        self.mounts.iter().fold(counted, |hasher, mount| match mount {
            Mount::Bind { target, files, read_write } => {
                hasher.field("bind").field(target).field(&files.identity).number((*read_write).into())
            }
            Mount::Cache { target, name, files, read_only, .. } => {
                let files = files.as_ref().map_or("", |files| &files.identity);
                hasher.field("cache").field(target).field(name).field(files).number((*read_only).into())
            }
            Mount::Memory(memory) => hasher
                .field("tmpfs")
                .field(memory.target.as_os_str().as_encoded_bytes())
                .number(memory.size.unwrap_or_default()),
            // By its name alone.
            Mount::Secret { target, env, id, mode, owner, .. } => hasher
                .field("secret")
                .field(id)
                .field(target.as_deref().unwrap_or_default())
                .field(env.as_deref().unwrap_or_default())
                .number((*mode).into())
                .number(owner.uid.into())
                .number(owner.gid.into()),
        })
    }

    /// Lays everything out.
    pub(super) fn lay(
        &self,
        stage: &Stage<'_, '_>,
        refuse: &dyn Fn(Refusal) -> BuildError,
    ) -> Result<Laid, BuildError> {
        let mut laid = Laid::default();
        for mount in &self.mounts {
            match mount {
                Mount::Bind { target, files, read_write } => {
                    let source = laid.files(stage, files, *read_write).map_err(refuse)?;
                    laid.bind(source, target, !read_write);
                }
                Mount::Cache { target, read_only, .. } => {
                    let source = laid.cache(stage, mount, refuse)?;
                    laid.bind(source, target, *read_only);
                }
                Mount::Memory(memory) => laid.extras.memory.push(memory.clone()),
                Mount::Secret { is_given: false, .. } => {}
                Mount::Secret { target, env, id, mode, owner, .. } => {
                    let secrets = &stage.project.request.secrets;
                    let value = secrets.iter().find(|secret| secret.id == *id).map(|secret| &secret.value);
                    let value = value.cloned().unwrap_or_default();
                    if let Some(name) = env {
                        let text = String::from_utf8(value.clone());
                        let text = text.map_err(|_| refuse(Refusal::SecretNotText { id: id.clone() }))?;
                        env::set(&mut laid.env, name, text);
                    }
                    laid.extras.secrets.extend(target.as_ref().map(|target| SecretFile {
                        path: target.into(),
                        content: value,
                        mode: *mode,
                        uid: owner.uid,
                        gid: owner.gid,
                    }));
                }
            }
        }
        Ok(laid)
    }
}

fn look_up(stage: &Stage<'_, '_>, kind: &MountKind) -> Result<Mount, Refusal> {
    Ok(match kind {
        MountKind::Bind { target, source, from, read_write } => Mount::Bind {
            target: place(stage, &target.text),
            files: find(stage, from.as_ref().map(|from| &*from.text), &source.text)?,
            read_write: *read_write,
        },
        MountKind::Cache { target, id, sharing, from, source, read_only, mode, uid, gid } => {
            let target = place(stage, &target.text);
            let from = from.as_ref().map(|from| find(stage, Some(&from.text), &source.text)).transpose()?;
            Mount::Cache {
                name: id.as_ref().map_or_else(|| target.clone(), |id| id.text.clone()),
                target,
                sharing: *sharing,
                files: from,
                read_only: *read_only,
                mode: *mode,
                owner: Owner { uid: *uid, gid: *gid },
            }
        }
        MountKind::Tmpfs { target, size } => {
            Mount::Memory(Memory { target: place(stage, &target.text).into(), size: *size })
        }
        MountKind::Secret { id, target, env, required, mode, uid, gid } => {
            let id = id.text.clone();
            let is_given = stage.project.request.secrets.iter().any(|secret| secret.id == id);
            if *required && !is_given {
                return Err(Refusal::NoSecret { id });
            }
            let target = match (target, env) {
                (Some(target), _) => Some(place(stage, &target.text)),
                (None, None) => Some(format!("{SECRETS}/{id}")),
                (None, Some(_)) => None,
            };
            let owner = Owner { uid: *uid, gid: *gid };
            let env = env.as_ref().map(|env| env.text.clone());
            Mount::Secret { target, env, id, mode: *mode, owner, is_given }
        }
    })
}

/// Where a mount goes.
fn place(stage: &Stage<'_, '_>, target: &str) -> String {
    let path = stage.absolute(target);
    if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path }
}

fn find(stage: &Stage<'_, '_>, from: Option<&str>, source: &str) -> Result<Files, Refusal> {
    let root = match from {
        None => context(stage),
        Some(from) => origin(stage, from)?,
    };
    let path = cleaned(source);
    let mut items = root.items(&path, &Ignore::default())?;
    // An empty stage or context is an empty directory.
    if items.is_empty() && !path.as_os_str().is_empty() {
        return Err(Refusal::NoSource { path: source.to_owned(), place: root.name });
    }
    let is_stored = !root.is_context;
    let identity = match is_stored {
        true => identity(&root, &path),
        false => {
            files::digest(&mut items)?;
            files::hash(&items, Hasher::new("files")).hex()
        }
    };
    Ok(Files { items, is_stored, identity })
}

/// Layers stay as they are, so their places say what is in them.
fn identity(root: &Root<'_>, path: &Path) -> String {
    let layers = root.view.layers().iter().filter_map(|layer| layer.parent()?.file_name());
    let layers: Vec<&[u8]> = layers.map(std::ffi::OsStr::as_encoded_bytes).collect();
    Hasher::new("stored").list(layers.iter()).field(path.as_os_str().as_encoded_bytes()).hex()
}

impl Laid {
    fn bind(&mut self, source: PathBuf, target: &str, read_only: bool) {
        self.binds.push(Bind { source, target: target.into(), read_only, optional: false });
    }

    /// A directory or file of these, gone when the process has ended; what is written to it goes with it.
    fn files(&mut self, stage: &Stage<'_, '_>, files: &Files, read_write: bool) -> Result<PathBuf, Refusal> {
        let staging = staging(stage)?;
        fill(staging.path(), files, !read_write)?;
        let path = staging.path().join("mount");
        self.kept.push(staging);
        Ok(path)
    }

    /// The directory of a cache, made where it is missing; locked as it asks for.
    fn cache(
        &mut self,
        stage: &Stage<'_, '_>,
        mount: &Mount,
        refuse: &dyn Fn(Refusal) -> BuildError,
    ) -> Result<PathBuf, BuildError> {
        let Mount::Cache { name, sharing, files, mode, owner, .. } = mount else { return Ok(PathBuf::new()) };
        let (project, workshop) = (stage.project, &stage.project.workshop);
        let identity = files.as_ref().map_or("", |files| &files.identity);
        let digest = Hasher::new("cache").field(name).field(identity).hex();
        let parent = project.own_caches().join("mounts");
        let failed = BuildError::state("make", parent.clone());
        std::fs::create_dir_all(&parent).map_err(failed)?;
        let (path, lock) = match sharing {
            Sharing::Shared => (parent.join(&digest), None),
            Sharing::Locked => {
                let lock = workshop.lock_file(&parent.join(format!("{digest}.lock")))?;
                (parent.join(&digest), Some(lock))
            }
            Sharing::Private => free(&parent, &digest)?,
        };
        self.locks.extend(lock);
        if !path.exists() {
            let staging = staging(stage).map_err(refuse)?;
            let new = staging.path().join("mount");
            match files {
                Some(files) => fill(staging.path(), files, false).map_err(refuse)?,
                None => {
                    let top = staging.path();
                    Canvas::new(&View::new(Vec::new()), top)
                        .dress(Path::new("/mount"), *mode, *owner)
                        .map_err(BuildError::state("make", &new))?;
                }
            }
            staging.publish("mount", &path).map_err(BuildError::state("make", &path))?;
        }
        Ok(path)
    }
}

/// The first copy of a private cache that nobody uses.
fn free(parent: &Path, digest: &str) -> Result<(PathBuf, Option<Lock>), BuildError> {
    let mut number = 0_u32;
    loop {
        let path = parent.join(format!("{digest}-{number}"));
        let lock_path = path.with_extension("lock");
        let lock = Lock::try_exclusive(&lock_path).map_err(BuildError::state("lock", &lock_path))?;
        match lock {
            Some(lock) => return Ok((path, Some(lock))),
            None => number += 1,
        }
    }
}

fn staging(stage: &Stage<'_, '_>) -> Result<Staging, Refusal> {
    let parent = stage.project.workshop.builder.home.store("staging");
    let path = parent.display().to_string();
    Staging::new(&parent).map_err(|source| Refusal::File { verb: "make", path, source })
}

/// Writes files as `mount` below `top`. Where nobody writes to them they are the store's own under another name.
fn fill(top: &Path, files: &Files, is_linking: bool) -> Result<(), Refusal> {
    let canvas = Canvas::new(&View::new(Vec::new()), top);
    let target = Path::new("/mount");
    let mut painter = Painter { is_linking: is_linking && files.is_stored, ..Painter::new(&canvas) };
    let failed = |source| Refusal::File { verb: "make", path: "mount".to_owned(), source };
    match files.items.first() {
        Some(first) if first.node == Node::Directory => {
            canvas.dress(target, first.mode, first.owner).map_err(failed)?;
        }
        Some(_) => {}
        None => canvas.dress(target, 0o755, Owner::ROOT).map_err(failed)?,
    }
    painter.paint(target, &files.items)
}
