//! Mounts laid out for a launch.

use std::path::{Path, PathBuf};

use abx_core::fs::{Lock, Staging};
use abx_dockerfile::Sharing;
use abx_isolate::{Bind, Extras, Memory, SecretFile};

use super::mounts::{Cache, Files, Mount, Mounts, Secret};
use crate::canvas::{Canvas, Owner};
use crate::dockerfile::copy::files::Node;
use crate::dockerfile::copy::paint::Painter;
use crate::dockerfile::refusal::Refusal;
use crate::dockerfile::stage::Stage;
use crate::env::{self, Env};
use crate::error::BuildError;
use crate::key::Hasher;
use crate::view::View;

/// The name of what is mounted in its staging directory.
const NAME: &str = "mount";

/// Makes the error for a mount that cannot be had.
pub(super) type Refuse<'r> = &'r dyn Fn(Refusal) -> BuildError;

/// Mounts as a launch takes them. It must live as long as the process: directories made for it go with it.
#[derive(Default)]
pub(super) struct Laid {
    pub(super) binds: Vec<Bind>,
    pub(super) extras: Extras,
    /// Secrets as variables.
    pub(super) env: Env,
    kept: Vec<Staging>,
    locks: Vec<Lock>,
}

impl Laid {
    pub(super) fn out(
        stage: &Stage<'_, '_>,
        mounts: &Mounts,
        refuse: Refuse<'_>,
    ) -> Result<Self, BuildError> {
        let mut laid = Self::default();
        for mount in &mounts.0 {
            match mount {
                Mount::Bind { target, files, read_write } => {
                    let source = laid.files(stage, files, *read_write).map_err(refuse)?;
                    laid.bind(source, target, !read_write);
                }
                Mount::Cache(cache) => {
                    let source = laid.cache(stage, cache, refuse)?;
                    laid.bind(source, &cache.target, cache.read_only);
                }
                Mount::Memory(memory) => {
                    laid.extras.memory.push(Memory { after: laid.binds.len(), ..memory.clone() });
                }
                Mount::Secret(secret) => laid.secret(stage, secret).map_err(refuse)?,
            }
        }
        Ok(laid)
    }

    /// Whether a target lies on what is mounted before the bind of this number, and so not in the root.
    pub(super) fn is_on_mount(&self, index: usize) -> bool {
        let target = &self.binds[index].target;
        let mut memories = self.extras.memory.iter().filter(|memory| memory.after <= index);
        self.binds[..index].iter().any(|bind| target.starts_with(&bind.target))
            || memories.any(|memory| target.starts_with(&memory.target))
    }

    fn bind(&mut self, source: PathBuf, target: &str, read_only: bool) {
        self.binds.push(Bind { source, target: target.into(), read_only, optional: false });
    }

    /// A directory or file of these; what is written to it goes with it.
    fn files(&mut self, stage: &Stage<'_, '_>, files: &Files, read_write: bool) -> Result<PathBuf, Refusal> {
        let staging = staging(stage)?;
        fill(staging.path(), files, !read_write)?;
        let path = staging.path().join(NAME);
        self.kept.push(staging);
        Ok(path)
    }

    /// A secret that was not given is left out.
    fn secret(&mut self, stage: &Stage<'_, '_>, secret: &Secret) -> Result<(), Refusal> {
        let Some(value) = stage.project.secret(&secret.id) else { return Ok(()) };
        if let Some(name) = &secret.env {
            let text = String::from_utf8(value.to_vec());
            let text = text.map_err(|_| Refusal::SecretNotText { id: secret.id.clone() })?;
            env::set(&mut self.env, name, text);
        }
        let Owner { uid, gid } = secret.owner;
        self.extras.secrets.extend(secret.target.as_ref().map(|target| SecretFile {
            path: target.into(),
            content: value.to_vec(),
            mode: secret.mode,
            uid,
            gid,
        }));
        Ok(())
    }

    /// The directory of a cache, made where it is missing; locked as it asks for.
    fn cache(
        &mut self,
        stage: &Stage<'_, '_>,
        cache: &Cache,
        refuse: Refuse<'_>,
    ) -> Result<PathBuf, BuildError> {
        let identity = cache.files.as_ref().map_or("", |files| &files.identity);
        let digest = Hasher::new("cache").field(&cache.name).field(identity).hex();
        let parent = stage.project.own_caches().join("mounts");
        std::fs::create_dir_all(&parent).map_err(BuildError::state("make", &parent))?;
        let (path, lock) = match cache.sharing {
            Sharing::Shared => (parent.join(&digest), None),
            Sharing::Locked => {
                let lock = stage.project.workshop.lock_file(&parent.join(format!("{digest}.lock")))?;
                (parent.join(&digest), Some(lock))
            }
            Sharing::Private => free(&parent, &digest)?,
        };
        self.locks.extend(lock);
        if !path.exists() {
            let staging = staging(stage).map_err(refuse)?;
            match &cache.files {
                Some(files) => fill(staging.path(), files, false).map_err(refuse)?,
                None => empty(staging.path(), cache.mode, cache.owner).map_err(refuse)?,
            }
            staging.publish(NAME, &path).map_err(BuildError::state("make", &path))?;
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
        if lock.is_some() {
            return Ok((path, lock));
        }
        number += 1;
    }
}

fn staging(stage: &Stage<'_, '_>) -> Result<Staging, Refusal> {
    let parent = stage.project.workshop.builder.home.store("staging");
    Staging::new(&parent).map_err(|source| cannot_make(source, &parent))
}

/// Writes files below `top`. Where nobody writes to them they are the store's own under another name.
fn fill(top: &Path, files: &Files, is_linking: bool) -> Result<(), Refusal> {
    let canvas = Canvas::new(&View::new(Vec::new()), top);
    match files.items.first() {
        Some(first) if first.node == Node::Directory => empty(top, first.mode, first.owner)?,
        Some(_) => {}
        None => empty(top, 0o755, Owner::ROOT)?,
    }
    let mut painter = Painter { is_linking: is_linking && files.is_stored, ..Painter::new(&canvas) };
    painter.paint(&Path::new("/").join(NAME), &files.items)
}

/// Makes an empty directory below `top`.
fn empty(top: &Path, mode: u32, owner: Owner) -> Result<(), Refusal> {
    let canvas = Canvas::new(&View::new(Vec::new()), top);
    let made = canvas.dress(&Path::new("/").join(NAME), mode, owner);
    made.map_err(|source| cannot_make(source, top))
}

fn cannot_make(source: std::io::Error, path: &Path) -> Refusal {
    Refusal::File { verb: "make", path: path.display().to_string(), source }
}
