//! The one place that knows what a child inherits.

use std::collections::BTreeMap;

use crate::effective::Effective;
use crate::limits::{
    DEFAULT_CAPABILITIES, DEFAULT_CPU, DEFAULT_DISK, DEFAULT_IDLE_TIMEOUT, DEFAULT_MEMORY, DEFAULT_PIDS,
    DEFAULT_TIMEOUT, DEFAULT_USER, DEFAULT_VERSION, DEFAULT_WORKDIR,
};
use crate::spec::{Agent, Clearable, Metadata, Mode, Spec};

/// Merges the specs of a lineage, root first. Of none at all, the defaults come out.
///
/// Scalars replace; `metadata` merges per key; `ports`, `tags` and `triggers` unite; capabilities,
/// probe, health check, startup command and egress replace as a whole; name and version are never inherited.
pub fn merge<'a>(lineage: impl IntoIterator<Item = &'a Spec>) -> Effective {
    let mut effective = Effective::defaults();
    for (member, spec) in lineage.into_iter().enumerate() {
        Merger { effective: &mut effective, member }.add(spec);
    }
    effective
}

impl Effective {
    fn defaults() -> Self {
        Self {
            metadata: Metadata { version: DEFAULT_VERSION.to_owned(), ..Metadata::default() },
            cpu: DEFAULT_CPU,
            memory: DEFAULT_MEMORY,
            disk: DEFAULT_DISK,
            pids: DEFAULT_PIDS,
            gpu: None,
            timeout: DEFAULT_TIMEOUT,
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            ports: Vec::new(),
            public: false,
            egress: None,
            mode: Mode::default(),
            workdir: DEFAULT_WORKDIR.to_owned(),
            user: DEFAULT_USER.to_owned(),
            shell: None,
            startup_command: None,
            readiness_probe: None,
            healthcheck: None,
            capabilities: DEFAULT_CAPABILITIES.iter().map(|&word| word.to_owned()).collect(),
            capabilities_place: None,
            agent: Agent::default(),
            origins: BTreeMap::new(),
        }
    }
}

/// Lays one member over what its ancestors came to.
struct Merger<'a> {
    effective: &'a mut Effective,
    member: usize,
}

impl Merger<'_> {
    fn add(&mut self, spec: &Spec) {
        self.metadata(&spec.metadata);
        for &key in &spec.cleared {
            self.clear(key);
        }
        self.resources(spec);
        self.network(spec);
        self.sandbox(spec);
        self.replace("capabilities", spec.capabilities.as_ref().map(|at| &at.value), |it| {
            &mut it.capabilities
        });
        if let Some(at) = &spec.capabilities {
            self.effective.capabilities_place = Some(at.place.clone());
        }
        self.replace_some("healthcheck", spec.healthcheck.as_ref(), |it| &mut it.healthcheck);
        self.replace_some("agent.description", spec.agent.description.as_ref(), |it| {
            &mut it.agent.description
        });
        self.replace_some("agent.instructions", spec.agent.instructions.as_ref(), |it| {
            &mut it.agent.instructions
        });
        self.unite("agent.triggers", &spec.agent.triggers, |it| &mut it.agent.triggers);
    }

    fn metadata(&mut self, metadata: &Metadata) {
        self.effective.metadata.name.clone_from(&metadata.name);
        self.effective.metadata.version.clone_from(&metadata.version);
        self.replace_some("metadata.display_name", metadata.display_name.as_ref(), |it| {
            &mut it.metadata.display_name
        });
        self.replace_some("metadata.description", metadata.description.as_ref(), |it| {
            &mut it.metadata.description
        });
        self.replace_some("metadata.author", metadata.author.as_ref(), |it| &mut it.metadata.author);
        self.replace_some("metadata.license", metadata.license.as_ref(), |it| &mut it.metadata.license);
        self.replace_some("metadata.homepage", metadata.homepage.as_ref(), |it| &mut it.metadata.homepage);
        self.replace_some("metadata.category", metadata.category.as_ref(), |it| &mut it.metadata.category);
        self.unite("metadata.tags", &metadata.tags, |it| &mut it.metadata.tags);
    }

    fn resources(&mut self, spec: &Spec) {
        let resources = &spec.resources;
        self.replace("resources.cpu", resources.cpu.as_ref(), |it| &mut it.cpu);
        self.replace("resources.memory", resources.memory.as_ref(), |it| &mut it.memory);
        self.replace("resources.disk", resources.disk.as_ref(), |it| &mut it.disk);
        self.replace_some("resources.gpu", resources.gpu.as_ref(), |it| &mut it.gpu);
        self.replace("resources.timeout", resources.timeout.as_ref(), |it| &mut it.timeout);
        self.replace("resources.idle_timeout", resources.idle_timeout.as_ref(), |it| &mut it.idle_timeout);
    }

    fn network(&mut self, spec: &Spec) {
        let ports: Vec<u16> = spec.network.ports.iter().map(|port| port.value).collect();
        self.unite("network.ports", &ports, |it| &mut it.ports);
        self.replace("network.public", spec.network.public.as_ref(), |it| &mut it.public);
        let egress = spec.network.egress.as_ref().map(|at| &at.value);
        self.replace_some("network.egress", egress, |it| &mut it.egress);
    }

    fn sandbox(&mut self, spec: &Spec) {
        let sandbox = &spec.sandbox;
        self.replace("sandbox.mode", sandbox.mode.as_ref(), |it| &mut it.mode);
        self.replace("sandbox.workdir", sandbox.workdir.as_ref(), |it| &mut it.workdir);
        self.replace("sandbox.user", sandbox.user.as_ref(), |it| &mut it.user);
        self.replace_some("sandbox.shell", sandbox.shell.as_ref(), |it| &mut it.shell);
        let startup = sandbox.startup_command.as_ref();
        self.replace_some("sandbox.startup_command", startup, |it| &mut it.startup_command);
        let probe = sandbox.readiness_probe.as_ref();
        self.replace_some("sandbox.readiness_probe", probe, |it| &mut it.readiness_probe);
    }

    /// An explicit `null`: back to nothing, and that is a statement too.
    fn clear(&mut self, key: Clearable) {
        let name = match key {
            Clearable::Gpu => {
                self.effective.gpu = None;
                "resources.gpu"
            }
            Clearable::StartupCommand => {
                self.effective.startup_command = None;
                "sandbox.startup_command"
            }
            Clearable::ReadinessProbe => {
                self.effective.readiness_probe = None;
                "sandbox.readiness_probe"
            }
            Clearable::Healthcheck => {
                self.effective.healthcheck = None;
                "healthcheck"
            }
            Clearable::Egress => {
                self.effective.egress = None;
                "network.egress"
            }
        };
        self.effective.origins.insert(name, self.member);
    }

    fn replace<T: Clone>(
        &mut self,
        key: &'static str,
        value: Option<&T>,
        field: fn(&mut Effective) -> &mut T,
    ) {
        if let Some(value) = value {
            field(self.effective).clone_from(value);
            self.effective.origins.insert(key, self.member);
        }
    }

    fn replace_some<T: Clone>(
        &mut self,
        key: &'static str,
        value: Option<&T>,
        field: fn(&mut Effective) -> &mut Option<T>,
    ) {
        if let Some(value) = value {
            *field(self.effective) = Some(value.clone());
            self.effective.origins.insert(key, self.member);
        }
    }

    fn unite<T: Clone + PartialEq>(
        &mut self,
        key: &'static str,
        values: &[T],
        field: fn(&mut Effective) -> &mut Vec<T>,
    ) {
        for value in values {
            let all = field(self.effective);
            if !all.contains(value) {
                all.push(value.clone());
                self.effective.origins.insert(key, self.member);
            }
        }
    }
}
