//! Members of a lineage in, [`Plan`] out. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abx_image::{Image, ImageConfig, LayerId};
use abx_source::HEALTHCHECK;
use abx_spec::{At, Effective, Place, Spec};

use crate::env::{self, Env};
use crate::key::Hasher;
use crate::member::Member;
use crate::passwd::is_user_name;
use crate::step::{Action, Step};

/// Where an image keeps what belongs to its templates: `<this>/<nn>-<template>/commands.py` and the like.
pub const KEPT: &str = "/usr/local/share/abx";

/// Steps in order, and what the image they lead to is configured with.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Without the history of the steps, which only their layers have.
    pub config: ImageConfig,
    /// The lineage's settings; `scripts/healthcheck.sh` stands in for a `healthcheck` that is absent.
    pub effective: Effective,
}

/// How keys follow each other where a layer has been made anew under another name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewals {
    /// The key a step has by its content, and the layer that was made for it last.
    pub known: BTreeMap<LayerId, LayerId>,
    /// Gives the first step, and so every later one, a key of its own: nothing cached fits.
    pub salt: Option<String>,
}

/// Orders the steps of a lineage, root first, on top of `base`, and gives each its key.
///
/// A step's key covers the key below it, its kind and content, the files it copies, and those variables it
/// sees; nothing else. So a parent's layers are the same in every template that inherits it.
pub fn plan(members: &[Member], base: &Image, renewals: &Renewals) -> Plan {
    let mut effective = abx_spec::merge(members.iter().map(|member| &member.spec));
    if members.is_empty() {
        run_directly(&mut effective, base);
        return Plan { steps: Vec::new(), config: base.config.clone(), effective };
    }
    let mut planner = Planner::new(base, renewals);
    for (depth, member) in members.iter().enumerate() {
        match member.is_built {
            true => planner.settle(&member.spec),
            false => planner.member(depth, member),
        }
        planner.healthcheck(depth, member, &mut effective);
    }
    let config = configure(base, planner.env, &effective);
    Plan { steps: planner.steps, config, effective }
}

/// An image without a template keeps what it says itself.
fn run_directly(effective: &mut Effective, base: &Image) {
    let or = |value: &str, default: &str| if value.is_empty() { default.into() } else { value.to_owned() };
    effective.user = or(&base.config.user, "root");
    effective.workdir = or(&base.config.workdir, "/");
}

fn configure(base: &Image, env: Env, effective: &Effective) -> ImageConfig {
    let mut config = base.config.clone();
    config.env = env;
    config.user.clone_from(&effective.user);
    config.workdir.clone_from(&effective.workdir);
    for port in &effective.ports {
        let port = format!("{port}/tcp");
        if !config.exposed_ports.contains(&port) {
            config.exposed_ports.push(port);
        }
    }
    if let Some(command) = &effective.startup_command {
        config.entrypoint = Vec::new();
        config.cmd = vec!["/bin/sh".into(), "-c".into(), command.value.clone()];
    }
    let metadata = &effective.metadata;
    env::set(&mut config.labels, "org.opencontainers.image.title", &metadata.name);
    env::set(&mut config.labels, "org.opencontainers.image.version", &metadata.version);
    if let Some(description) = &metadata.description {
        env::set(&mut config.labels, "org.opencontainers.image.description", description);
    }
    config
}

/// Adds one member after the other.
struct Planner<'a> {
    renewals: &'a Renewals,
    steps: Vec<Step>,
    /// The key of the layer below the next step.
    parent: LayerId,
    /// The member whose steps are being added.
    member: usize,
    /// The image's variables so far.
    env: Env,
    user: String,
    workdir: String,
}

impl<'a> Planner<'a> {
    fn new(base: &Image, renewals: &'a Renewals) -> Self {
        let defaults = abx_spec::merge([]);
        let mut env = base.config.env.clone();
        if env::get(&env, "PATH").is_none() {
            env::set(&mut env, "PATH", env::DEFAULT_PATH);
        }
        let layers = base.layers.iter().map(|layer| &layer.0);
        let parent = Hasher::new("base").list(layers).layer();
        Self {
            renewals,
            steps: Vec::new(),
            parent,
            member: 0,
            env,
            user: defaults.user,
            workdir: defaults.workdir,
        }
    }

    fn member(&mut self, depth: usize, member: &Member) {
        self.member = depth;
        let build = &member.spec.build;
        let template = &member.spec.metadata.name;
        let inherited = self.env.clone();
        self.setup(depth, member);

        // Package steps see what steers them and the parent's PATH; `build.env` at large is for `run`.
        self.extend_env(&build.env);
        let mut steering: Env = self.env.iter().filter(|(name, _)| env::steers(name)).cloned().collect();
        steering.extend(inherited.iter().find(|(name, _)| name == "PATH").cloned());

        let names_files =
            build.pip_install.iter().chain(&build.npm_install).any(|item| is_local(&item.value));
        if names_files {
            self.files(member);
        }
        for (items, action) in [
            (&build.apt_install, (|packages| Action::Apt { packages }) as fn(Vec<String>) -> Action),
            (&build.pip_install, |packages| Action::Pip { packages }),
            (&build.npm_install, |packages| Action::Npm { packages }),
        ] {
            self.packages(template, items, action, &steering);
        }
        if !names_files {
            self.files(member);
        }
        for (copy, tree) in build.copy.iter().zip(&member.copies) {
            let (src, dest) = (copy.value.src.display(), &copy.value.dest);
            let name = copy.value.src.file_name().unwrap_or_default().to_string_lossy();
            let action = Action::Copy {
                tree: tree.clone(),
                source: if tree.is_single() { name.into_owned() } else { String::new() },
                dest: dest.clone(),
                workdir: self.workdir.clone(),
                user: self.user.clone(),
            };
            self.push(template, action, format!("copy: {src} {dest}"), Some(&copy.place), Env::new());
        }
        for command in &build.run {
            let action = Action::Run { command: command.value.clone() };
            let title = format!("run: {}", first_line(&command.value));
            self.push(template, action, title, Some(&command.place), self.env.clone());
        }
        if let Some(script) = &member.script {
            let action = Action::Script { content: script.value.clone() };
            let title = "scripts/setup.sh".to_owned();
            self.push(template, action, title, Some(&script.place), self.env.clone());
        }
        self.finish(depth, member, &inherited);
    }

    /// Whoever comes after a member is its user, in its directory, unless it says otherwise.
    fn settle(&mut self, spec: &Spec) {
        if let Some(user) = &spec.sandbox.user {
            self.user.clone_from(user);
        }
        if let Some(workdir) = &spec.sandbox.workdir {
            self.workdir.clone_from(workdir);
        }
    }

    fn setup(&mut self, depth: usize, member: &Member) {
        let before = (self.user.clone(), self.workdir.clone());
        self.settle(&member.spec);
        let (user, workdir) = (self.user.clone(), self.workdir.clone());
        if depth > 0 && before == (user.clone(), workdir.clone()) {
            return;
        }
        let title = format!("setup: user {user}, workdir {workdir}");
        self.push(&member.spec.metadata.name, Action::Setup { user, workdir }, title, None, Env::new());
    }

    fn files(&mut self, member: &Member) {
        if member.files.is_empty() {
            return;
        }
        let action = Action::Files {
            tree: member.files.clone(),
            workdir: self.workdir.clone(),
            user: self.user.clone(),
        };
        let title = format!("files/ to {}", self.workdir);
        self.push(&member.spec.metadata.name, action, title, None, Env::new());
    }

    fn packages(
        &mut self,
        template: &str,
        items: &[At<String>],
        action: fn(Vec<String>) -> Action,
        env: &Env,
    ) {
        let Some(first) = items.first() else { return };
        let mut packages: Vec<String> = Vec::with_capacity(items.len());
        for item in items {
            if !packages.contains(&item.value) {
                packages.push(item.value.clone());
            }
        }
        let names = packages.join(" ");
        let action = action(packages);
        let title = format!("{}: {names}", action.kind());
        self.push(template, action, title, Some(&first.place), env.clone());
    }

    fn finish(&mut self, depth: usize, member: &Member, inherited: &Env) {
        // A user that is a number has no home directory of that name.
        if self.user != "root" && is_user_name(&self.user) {
            let own = format!("/home/{}/.local/bin", self.user);
            let path = env::get(&self.env, "PATH").unwrap_or_default();
            if !path.split(':').any(|part| part == own) {
                let path = format!("{path}:{own}");
                env::set(&mut self.env, "PATH", path);
            }
        }
        if depth > 0 && member.keep.is_empty() && self.env == *inherited {
            return;
        }
        let action = Action::Finish {
            env: self.env.clone(),
            keep: member.keep.clone(),
            directory: kept(depth, member),
        };
        self.push(&member.spec.metadata.name, action, "environment of login shells".into(), None, Env::new());
    }

    /// The last of `healthcheck` keys and `scripts/healthcheck.sh` files wins, in one member the key.
    fn healthcheck(&self, depth: usize, member: &Member, effective: &mut Effective) {
        let overridden = effective.origin("healthcheck").is_some_and(|origin| origin >= depth);
        if overridden || !member.has_healthcheck {
            return;
        }
        let path = kept(depth, member).join(HEALTHCHECK).display().to_string();
        let file = format!("{HEALTHCHECK} of {}", member.spec.metadata.name);
        effective.healthcheck = Some(abx_spec::Healthcheck {
            command: At { value: path, place: Place { file, line: 1, column: 1 } },
            interval: 30.0,
            timeout: 5.0,
            retries: 3,
            start_period: 0.0,
        });
    }

    fn extend_env(&mut self, entries: &[(String, At<String>)]) {
        for (name, value) in entries {
            let expanded = abx_spec::expand(&value.value, |name| env::get(&self.env, name));
            env::set(&mut self.env, name, expanded);
        }
    }

    fn push(&mut self, template: &str, action: Action, title: String, place: Option<&Place>, env: Env) {
        let mut key = action.key(&self.parent, &env, &self.workdir);
        if let (true, Some(salt)) = (self.steps.is_empty(), &self.renewals.salt) {
            key = Hasher::new("renewal").field(&key.0).field(salt).layer();
        } else if let Some(known) = self.renewals.known.get(&key) {
            key = known.clone();
        }
        self.parent = key.clone();
        self.steps.push(Step {
            action,
            title,
            place: place.cloned(),
            member: self.member,
            template: template.to_owned(),
            env,
            workdir: self.workdir.clone(),
            key,
        });
    }
}

/// Where a member's own files are kept. The number keeps the order of the lineage.
fn kept(depth: usize, member: &Member) -> PathBuf {
    Path::new(KEPT).join(format!("{depth:02}-{}", member.spec.metadata.name))
}

/// Whether a requirement names a file or folder of the package, so that `files/` must be there first.
fn is_local(requirement: &str) -> bool {
    ["./", "../", "/", "-r", "-c", "-e", "--requirement", "--constraint", "--editable", "file:"]
        .iter()
        .any(|prefix| requirement.starts_with(prefix))
        || requirement == "."
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
