//! What a build of a Dockerfile is given, and what it comes to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use abx_dockerfile::{Dockerfile, Ignore, Inputs, Platform};
use abx_image::{Healthcheck, Image};

use crate::builder::StepOutcome;

/// Everything a build depends on, the store and the host aside.
#[derive(Clone, Debug)]
pub struct DockerfileRequest {
    pub file: Dockerfile,
    /// The directory `COPY` and `ADD` take files from. It is only read.
    pub context: PathBuf,
    /// What of the context the build does not see.
    pub ignore: Option<Ignore>,
    /// The name or number of the stage to build; the last one where absent.
    pub target: Option<String>,
    /// `--build-arg`; the last value of a name counts.
    pub build_args: Vec<(String, String)>,
    pub secrets: Vec<BuildSecret>,
    /// What the image is for.
    pub platform: Platform,
    /// The images of [`froms`](crate::froms), by their names there.
    pub bases: BTreeMap<String, Image>,
    /// What people know it by: progress and errors say this.
    pub name: String,
}

/// A secret of the caller, for `RUN --mount=type=secret`.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildSecret {
    pub id: String,
    pub value: Vec<u8>,
}

impl std::fmt::Debug for BuildSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BuildSecret({}, ****)", self.id)
    }
}

/// A built Dockerfile.
#[derive(Clone, Debug)]
pub struct DockerfileImage {
    pub image: Image,
    /// Of every stage that was built, stage by stage.
    pub steps: Vec<StepOutcome>,
    pub own: Own,
}

/// What the Dockerfile itself says of how to run the image, its target and the stages that builds on. What comes with
/// an image of `FROM` is not here; `None` and empty mean that the file does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// As the image is configured: in shell form with the shell in front. Empty where the file takes an inherited
    /// one back.
    pub cmd: Option<Vec<String>>,
    pub entrypoint: Option<Vec<String>>,
    /// `80/tcp`.
    pub expose: Vec<String>,
    pub workdir: Option<String>,
    pub user: Option<String>,
    pub healthcheck: Option<Healthcheck>,
    pub stop_signal: Option<String>,
    pub shell: Option<Vec<String>>,
    pub volumes: Vec<String>,
    pub labels: Vec<(String, String)>,
    pub env: Vec<(String, String)>,
}

/// What the variables of a Dockerfile start from, for a build on this machine.
pub(crate) fn inputs(build_args: &[(String, String)], platform: &Platform) -> Inputs {
    let build = Platform::parse(std::env::consts::ARCH).unwrap_or_else(|| platform.clone());
    Inputs { arguments: build_args.iter().cloned().collect(), build, target: platform.clone() }
}
