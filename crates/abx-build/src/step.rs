//! One step of a plan.

use std::path::PathBuf;

use abx_image::LayerId;
use abx_spec::Place;

use crate::env::Env;
use crate::key::Hasher;
use crate::tree::Tree;

/// What a step does, with everything its result depends on besides the layers below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Makes the user, the home and working directories, and the files that run time binds over.
    Setup { user: String, workdir: String },
    /// Copies `files/**` into the working directory.
    Files { tree: Tree, workdir: String, user: String },
    /// Installs distribution packages.
    Apt { packages: Vec<String> },
    /// Installs Python packages for all users.
    Pip { packages: Vec<String> },
    /// Installs Node packages globally.
    Npm { packages: Vec<String> },
    /// Copies one `build.copy` entry; `source` is the name a single file keeps in a directory.
    Copy { tree: Tree, source: String, dest: String, workdir: String, user: String },
    /// Runs a shell command.
    Run { command: String },
    /// Runs `scripts/setup.sh`.
    Script { content: String },
    /// Restores the environment in login shells, and keeps commands and health check with the image.
    Finish { env: Env, keep: Tree, directory: PathBuf },
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub action: Action,
    /// For people: `apt_install: curl git`.
    pub title: String,
    /// Where it stands in its template; `None` for steps no key asks for.
    pub place: Option<Place>,
    /// Which member of the lineage it belongs to; 0 is the root.
    pub member: usize,
    /// The name of that template.
    pub template: String,
    /// The variables its process sees from the image and the template.
    pub env: Env,
    /// Working directory of its process.
    pub workdir: String,
    /// The layer it makes, by everything that layer depends on.
    pub key: LayerId,
}

impl Action {
    /// The word that names the kind, as in the template.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Setup { .. } => "setup",
            Self::Files { .. } => "files",
            Self::Apt { .. } => "apt_install",
            Self::Pip { .. } => "pip_install",
            Self::Npm { .. } => "npm_install",
            Self::Copy { .. } => "copy",
            Self::Run { .. } => "run",
            Self::Script { .. } => "scripts/setup.sh",
            Self::Finish { .. } => "finish",
        }
    }

    /// Whether it starts processes in the image; the others only write files.
    pub fn runs_processes(&self) -> bool {
        matches!(
            self,
            Self::Apt { .. } | Self::Pip { .. } | Self::Npm { .. } | Self::Run { .. } | Self::Script { .. }
        )
    }

    /// The version of the way each kind is done: raised with every change that alters results.
    fn version(&self) -> u64 {
        match self {
            Self::Setup { .. } | Self::Files { .. } | Self::Copy { .. } | Self::Finish { .. } => 1,
            Self::Apt { .. } | Self::Npm { .. } => 1,
            Self::Pip { .. } | Self::Run { .. } | Self::Script { .. } => 2,
        }
    }

    fn hash(&self, hasher: Hasher) -> Hasher {
        let hasher = hasher.field(self.kind()).number(self.version());
        match self {
            Self::Setup { user, workdir } => hasher.field(user).field(workdir),
            Self::Files { tree, workdir, user } => tree.hash(hasher.field(workdir).field(user)),
            Self::Apt { packages } | Self::Pip { packages } | Self::Npm { packages } => {
                hasher.list(packages.iter())
            }
            Self::Copy { tree, source, dest, workdir, user } => {
                tree.hash(hasher.field(source).field(dest).field(workdir).field(user))
            }
            Self::Run { command } => hasher.field(command),
            Self::Script { content } => hasher.field(content),
            Self::Finish { env, keep, directory } => {
                keep.hash(hasher.env(env).field(directory.as_os_str().as_encoded_bytes()))
            }
        }
    }

    /// The key of this action on top of `parent`, seen with `env` in `workdir`.
    pub(crate) fn key(&self, parent: &LayerId, env: &Env, workdir: &str) -> LayerId {
        let hasher = self.hash(Hasher::new("step").field(&parent.0));
        match self.runs_processes() {
            true => hasher.env(env).field(workdir).layer(),
            false => hasher.layer(),
        }
    }
}
