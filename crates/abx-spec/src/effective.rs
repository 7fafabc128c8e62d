//! What a lineage comes to.

use std::collections::BTreeMap;

use abx_core::Egress;

use crate::spec::{Agent, At, Healthcheck, Metadata, Mode, Place, Probe};

/// A template with everything it inherits and every default filled in: all that is not a build step.
///
/// [`Effective::origin`] tells a stated value from a default.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// Name and version are the last member's own; the rest is merged per key.
    pub metadata: Metadata,
    /// Cores.
    pub cpu: f64,
    /// MB.
    pub memory: u64,
    /// MB.
    pub disk: u64,
    /// Processes and threads.
    pub pids: u64,
    pub gpu: Option<String>,
    /// Seconds.
    pub timeout: u64,
    /// Seconds.
    pub idle_timeout: u64,
    /// Union over the lineage, root first, each once.
    pub ports: Vec<u16>,
    pub public: bool,
    /// What of the outside may be reached; `None`: everything.
    pub egress: Option<Egress>,
    pub mode: Mode,
    pub workdir: String,
    pub user: String,
    /// `None`: `/bin/bash` where the image has it, else `/bin/sh`.
    pub shell: Option<String>,
    pub startup_command: Option<At<String>>,
    pub readiness_probe: Option<At<Probe>>,
    pub healthcheck: Option<Healthcheck>,
    pub capabilities: Vec<String>,
    /// Where they are stated; `None` where they are the default.
    pub capabilities_place: Option<Place>,
    pub agent: Agent,
    pub(crate) origins: BTreeMap<&'static str, usize>,
}

impl Effective {
    /// Which member of the lineage (0 is the root) set the key, written as in the file (`sandbox.workdir`,
    /// `resources.cpu`, `capabilities`); `None` where the value is a default.
    pub fn origin(&self, key: &str) -> Option<usize> {
        self.origins.get(key).copied()
    }
}
