//! What a template means: the full model, whichever shape the file had.

use std::path::PathBuf;

use abx_core::Egress;

/// Where a value stands in its file, so that a later stage can still point at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file as the user knows it (`./mine/template.yaml`, `template.yaml of python-base`).
    pub file: String,
    /// Line and column, from 1.
    pub line: usize,
    pub column: usize,
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    pub value: T,
    pub place: Place,
}

/// A template as its file states it: absent keys are `None` or empty, nothing is inherited yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    pub metadata: Metadata,
    /// `None` where a Dockerfile beside the file defines the image.
    pub base: Option<Base>,
    pub build: Build,
    pub resources: Resources,
    pub network: Network,
    pub sandbox: Sandbox,
    /// `None` where the key is absent: the parent's set, or the default set at the root.
    pub capabilities: Option<At<Vec<String>>>,
    pub agent: Agent,
    pub healthcheck: Option<Healthcheck>,
    /// What the file states to be `null`: a child so drops what its parent set.
    pub cleared: Vec<Clearable>,
}

/// A setting that means something when it is `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearable {
    Gpu,
    StartupCommand,
    ReadinessProbe,
    Healthcheck,
    Egress,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    pub name: String,
    pub display_name: Option<String>,
    pub description: Option<String>,
    /// SemVer, `0.0.0` where absent.
    pub version: String,
    pub author: Option<String>,
    pub license: Option<String>,
    pub homepage: Option<String>,
    pub tags: Vec<String>,
    pub category: Option<String>,
}

/// What the image starts from.
#[derive(Clone, Debug, PartialEq)]
pub enum Base {
    /// A container image, `debian:bookworm-slim`.
    Image(At<String>),
    /// Another template, any reference form.
    From(At<String>),
    /// A template of this name, else an image: the bare name of the shorthand.
    Either(At<String>),
}

/// The build steps in their fixed order: apt, pip, npm, copy, run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Build {
    pub apt_install: Vec<At<String>>,
    pub pip_install: Vec<At<String>>,
    pub npm_install: Vec<At<String>>,
    /// In file order; values as written, `$NAME` not yet expanded.
    pub env: Vec<(String, At<String>)>,
    pub copy: Vec<At<Copy>>,
    pub run: Vec<At<String>>,
}

/// One entry of `build.copy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Relative to the package, never leaving it.
    pub src: PathBuf,
    /// Absolute, or relative to the workdir; a trailing `/` means into that directory.
    pub dest: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    /// Cores, may be fractional.
    pub cpu: Option<f64>,
    /// MB.
    pub memory: Option<u64>,
    /// MB.
    pub disk: Option<u64>,
    /// A kind of device, `A10`.
    pub gpu: Option<String>,
    /// Seconds.
    pub timeout: Option<u64>,
    /// Seconds.
    pub idle_timeout: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    pub ports: Vec<At<u16>>,
    pub public: Option<bool>,
    /// What of the outside may be reached.
    pub egress: Option<At<Egress>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Ephemeral,
    Persistent,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sandbox {
    pub mode: Option<Mode>,
    pub workdir: Option<String>,
    pub user: Option<String>,
    pub shell: Option<String>,
    pub startup_command: Option<At<String>>,
    pub readiness_probe: Option<At<Probe>>,
}

/// How to tell that a sandbox is ready.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    pub check: Check,
    /// Seconds between two tries, default 0.2.
    pub interval: f64,
    /// Seconds until it counts as failed, default 30; also cuts a try that hangs.
    pub timeout: f64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Something listens on this port.
    Tcp(u16),
    /// This shell command ends with status 0.
    Exec(String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    pub description: Option<String>,
    pub triggers: Vec<String>,
    pub instructions: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Healthcheck {
    pub command: At<String>,
    /// Seconds, default 30.
    pub interval: f64,
    /// Seconds, default 5.
    pub timeout: f64,
    /// Failures in a row until the sandbox counts as unhealthy, default 3.
    pub retries: u32,
    /// Seconds from the start in which failures do not count until a check has passed, default 0.
    pub start_period: f64,
}
