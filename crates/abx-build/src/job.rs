//! What a step runs, as data: the part of a launch that depends on the kind of step.

use std::path::PathBuf;

use abx_core::Home;
use abx_isolate::{Bind, RuntimeFile};

use crate::env::{self, Env};
use crate::network::RUN;
use crate::view::View;

/// A process to run in the image, with what it sees besides the image.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Job {
    pub(crate) argv: Vec<String>,
    /// Variables on top of the step's own, which win.
    pub(crate) env: Env,
    pub(crate) binds: Vec<Bind>,
    pub(crate) files: Vec<RuntimeFile>,
    /// Directories that must be there to be bound over; made in the layer where the image lacks them.
    pub(crate) mount_points: Vec<PathBuf>,
    /// Host directories that must be there to be bound.
    pub(crate) directories: Vec<PathBuf>,
    /// Taken while it runs.
    pub(crate) lock: Option<PathBuf>,
    /// A file that gets this content once the job has succeeded.
    pub(crate) stamp: Option<(PathBuf, String)>,
    /// Whether the host's bundle lies over the system's own.
    pub(crate) over_system_bundle: bool,
}

impl Job {
    /// Binds a host directory, made where it is missing, below [`RUN`].
    pub(crate) fn bind_directory(&mut self, source: PathBuf, name: &str) -> String {
        let target = format!("{RUN}/{name}");
        self.directories.push(source.clone());
        self.binds.push(Bind { source, target: target.clone().into(), read_only: false, optional: false });
        target
    }

    /// Points the language package tools to caches that are kept between builds.
    pub(crate) fn with_caches(mut self, caches: &Caches<'_>) -> Self {
        for (tool, variable) in
            [("pip", "PIP_CACHE_DIR"), ("uv", "UV_CACHE_DIR"), ("npm", "npm_config_cache")]
        {
            let target = self.bind_directory(caches.of(tool), &format!("cache/{tool}"));
            env::set(&mut self.env, variable, target);
        }
        for (name, value) in [
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
            ("PIP_NO_INPUT", "1"),
            ("PIP_PROGRESS_BAR", "off"),
            ("PIP_ROOT_USER_ACTION", "ignore"),
            ("UV_LINK_MODE", "copy"),
            ("UV_NO_PROGRESS", "1"),
            ("UV_PYTHON_DOWNLOADS", "never"),
            ("npm_config_audit", "false"),
            ("npm_config_fund", "false"),
            ("npm_config_progress", "false"),
            ("npm_config_update_notifier", "false"),
        ] {
            env::set(&mut self.env, name, value);
        }
        self
    }
}

/// Downloads that are kept between builds.
#[derive(Clone, Debug)]
pub(crate) struct Caches<'a> {
    pub(crate) home: &'a Home,
    pub(crate) scope: Scope,
}

/// Whose downloads they are. What a template brings along (commands, files, packages of anybody) may write
/// anything into a cache it sees; so such steps, and all on top of them, have caches of their template alone,
/// and cannot slip a package to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Shared,
    Template(String),
}

impl Caches<'_> {
    /// The directory for the downloads of `tool`.
    pub(crate) fn of(&self, tool: &str) -> PathBuf {
        match &self.scope {
            Scope::Shared => self.home.cache(tool),
            Scope::Template(name) => self.home.cache("own").join(escape(name)).join(tool),
        }
    }

    /// The directory for helper programs that were fetched by way of the image.
    pub(crate) fn tools(&self) -> PathBuf {
        match &self.scope {
            Scope::Shared => self.home.store("tools"),
            Scope::Template(name) => self.home.store("tools").join("own").join(escape(name)),
        }
    }
}

/// Any text as one file name.
pub(crate) fn escape(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.chars().map(|c| if plain(c) { c.to_string() } else { format!("%{:x}", c as u32) }).collect()
}

/// A shell that runs `script` with `arguments` as `$1`…, and stops at the first failure.
pub(crate) fn shell(view: &View, script: &str, arguments: &[String]) -> std::io::Result<Vec<String>> {
    let mut argv = strict_shell(view)?;
    argv.extend(["-c", script, "build"].map(String::from));
    argv.extend(arguments.iter().cloned());
    Ok(argv)
}

/// The same shell reading the file at `path`.
pub(crate) fn shell_file(view: &View, path: &str) -> std::io::Result<Vec<String>> {
    let mut argv = strict_shell(view)?;
    argv.push(path.to_owned());
    Ok(argv)
}

fn strict_shell(view: &View) -> std::io::Result<Vec<String>> {
    Ok(match view.exists("/bin/bash")? {
        true => ["/bin/bash", "-eo", "pipefail"].map(String::from).into(),
        false => ["/bin/sh", "-e"].map(String::from).into(),
    })
}

/// Finds a program of the image by the step's PATH.
pub(crate) fn program(view: &View, env: &[(String, String)], name: &str) -> std::io::Result<Option<String>> {
    let path = env::get(env, "PATH").unwrap_or(env::DEFAULT_PATH);
    for directory in path.split(':').filter(|directory| directory.starts_with('/')) {
        let candidate = format!("{directory}/{name}");
        if view.find(&candidate)?.is_some_and(|found| found.metadata.is_file()) {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}
