//! `--mount`, looked up: what a mount shows, and what of it goes into the key.

use std::ffi::OsStr;
use std::path::Path;

use abx_dockerfile::{Ignore, MountKind, Run, Sharing};
use abx_isolate::Memory;

use crate::canvas::Owner;
use crate::dockerfile::copy::files::{self, Item, Root};
use crate::dockerfile::copy::select::cleaned;
use crate::dockerfile::copy::{context, origin};
use crate::dockerfile::refusal::Refusal;
use crate::dockerfile::stage::Stage;
use crate::key::Hasher;

/// Where secrets without a place of their own are.
const SECRETS: &str = "/run/secrets";

/// The mounts of one `RUN`, in order.
pub(super) struct Mounts(pub(super) Vec<Mount>);

/// One mount. Targets are absolute.
pub(super) enum Mount {
    Bind { target: String, files: Files, read_write: bool },
    Cache(Cache),
    Memory(Memory),
    Secret(Secret),
}

/// A directory that outlives the build.
pub(super) struct Cache {
    pub(super) target: String,
    pub(super) name: String,
    pub(super) sharing: Sharing,
    /// What a new one begins with.
    pub(super) files: Option<Files>,
    pub(super) read_only: bool,
    pub(super) mode: u32,
    pub(super) owner: Owner,
}

/// A secret by its name.
pub(super) struct Secret {
    pub(super) id: String,
    pub(super) target: Option<String>,
    pub(super) env: Option<String>,
    pub(super) mode: u32,
    pub(super) owner: Owner,
}

/// Files to mount.
pub(super) struct Files {
    pub(super) items: Vec<Item>,
    /// Whether they are the store's own, which nobody writes to.
    pub(super) is_stored: bool,
    /// What tells them from others.
    pub(super) identity: String,
}

impl Mounts {
    pub(super) fn of(stage: &Stage<'_, '_>, run: &Run) -> Result<Self, Refusal> {
        let mounts = run.mounts.iter().map(|mount| Mount::of(stage, &mount.kind));
        Ok(Self(mounts.collect::<Result<_, _>>()?))
    }

    pub(super) fn hash(&self, hasher: Hasher) -> Hasher {
        let counted = hasher.number(self.0.len() as u64);
        self.0.iter().fold(counted, |hasher, mount| mount.hash(hasher))
    }
}

impl Mount {
    fn of(stage: &Stage<'_, '_>, kind: &MountKind) -> Result<Self, Refusal> {
        Ok(match kind {
            MountKind::Bind { target, source, from, read_write } => Self::Bind {
                target: place(stage, &target.text),
                files: find(stage, from.as_ref().map(|from| &*from.text), &source.text)?,
                read_write: *read_write,
            },
            MountKind::Cache { target, id, sharing, from, source, read_only, mode, uid, gid } => {
                let target = place(stage, &target.text);
                let from = from.as_ref().map(|from| find(stage, Some(&from.text), &source.text));
                Self::Cache(Cache {
                    name: id.as_ref().map_or_else(|| target.clone(), |id| id.text.clone()),
                    target,
                    sharing: *sharing,
                    files: from.transpose()?,
                    read_only: *read_only,
                    mode: *mode,
                    owner: Owner { uid: *uid, gid: *gid },
                })
            }
            MountKind::Tmpfs { target, size } => {
                Self::Memory(Memory { target: place(stage, &target.text).into(), size: *size, after: 0 })
            }
            MountKind::Secret { id, target, env, required, mode, uid, gid } => {
                let id = id.text.clone();
                if *required && stage.project.secret(&id).is_none() {
                    return Err(Refusal::NoSecret { id });
                }
                let target = match (target, env) {
                    (Some(target), _) => Some(place(stage, &target.text)),
                    (None, None) => Some(format!("{SECRETS}/{id}")),
                    (None, Some(_)) => None,
                };
                let (env, owner) = (env.as_ref().map(|env| env.text.clone()), Owner { uid: *uid, gid: *gid });
                Self::Secret(Secret { id, target, env, mode: *mode, owner })
            }
        })
    }

    fn hash(&self, hasher: Hasher) -> Hasher {
        match self {
            Self::Bind { target, files, read_write } => {
                let hasher = hasher.field("bind").field(target).field(&files.identity);
                hasher.number((*read_write).into())
            }
            // What is in it at the moment does not count, nor how it is shared.
            Self::Cache(cache) => {
                let files = cache.files.as_ref().map_or("", |files| &files.identity);
                let hasher = hasher.field("cache").field(&cache.target).field(&cache.name).field(files);
                hasher.number(cache.read_only.into())
            }
            Self::Memory(memory) => {
                let hasher = hasher.field("tmpfs").field(memory.target.as_os_str().as_encoded_bytes());
                hasher.number(memory.size.unwrap_or_default())
            }
            // By its name alone.
            Self::Secret(secret) => hasher
                .field("secret")
                .field(&secret.id)
                .field(secret.target.as_deref().unwrap_or_default())
                .field(secret.env.as_deref().unwrap_or_default())
                .number(secret.mode.into())
                .number(secret.owner.uid.into())
                .number(secret.owner.gid.into()),
        }
    }
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
            files::digest(&mut items, &stage.project.contents)?;
            files::hash(&items, Hasher::new("files")).hex()
        }
    };
    Ok(Files { items, is_stored, identity })
}

/// Layers stay as they are, so their names say what is in them.
fn identity(root: &Root<'_>, path: &Path) -> String {
    let layers = root.view.layers().iter().filter_map(|layer| layer.parent()?.file_name());
    let layers: Vec<&[u8]> = layers.map(OsStr::as_encoded_bytes).collect();
    Hasher::new("stored").list(layers.iter()).field(path.as_os_str().as_encoded_bytes()).hex()
}
