//! The keys of every section.

pub(crate) const TOP: &[&str] = &[
    "version",
    "metadata",
    "base",
    "build",
    "resources",
    "network",
    "sandbox",
    "capabilities",
    "agent",
    "healthcheck",
];
pub(crate) const METADATA: &[&str] =
    &["name", "display_name", "description", "version", "author", "license", "homepage", "tags", "category"];
pub(crate) const BASE: &[&str] = &["image", "from"];
pub(crate) const BUILD: &[&str] = &["apt_install", "pip_install", "npm_install", "env", "run", "copy"];
pub(crate) const COPY: &[&str] = &["src", "dest"];
pub(crate) const RESOURCES: &[&str] = &["cpu", "memory", "disk", "gpu", "timeout", "idle_timeout"];
pub(crate) const NETWORK: &[&str] = &["ports", "public", "egress"];
pub(crate) const EGRESS: &[&str] = &["default", "allow", "deny"];
pub(crate) const SANDBOX: &[&str] =
    &["mode", "workdir", "user", "shell", "startup_command", "readiness_probe"];
pub(crate) const PROBE: &[&str] = &["type", "port", "command", "interval", "timeout"];
pub(crate) const AGENT: &[&str] = &["description", "triggers", "instructions"];
pub(crate) const HEALTHCHECK: &[&str] = &["command", "interval", "timeout", "retries", "start_period"];

pub(crate) const SHORTHAND: &[&str] = &[
    "name",
    "version",
    "description",
    "display_name",
    "author",
    "license",
    "homepage",
    "tags",
    "category",
    "base",
    "packages",
    "files",
    "env",
    "ports",
    "resources",
    "entrypoint",
    "workdir",
    "user",
    "capabilities",
];
pub(crate) const PACKAGES: &[&str] = &["pip", "apt", "npm"];
pub(crate) const FILE: &[&str] = &["source", "target"];

/// Keys that only the full form has: one of them tells it.
pub(crate) const FULL_ONLY: &[&str] = &["metadata", "build", "network", "sandbox", "agent", "healthcheck"];
/// Keys that only the flat shorthand has.
pub(crate) const FLAT_ONLY: &[&str] = &["name", "packages", "files", "entrypoint"];

/// What a key of the flat shorthand or of the older dialect stands for in the full form; `None` where it is the same.
pub(crate) fn stands_for(path: &str) -> Option<&'static str> {
    Some(match path {
        "name" => "metadata.name",
        "version" => "metadata.version",
        "description" => "metadata.description",
        "display_name" => "metadata.display_name",
        "author" => "metadata.author",
        "license" => "metadata.license",
        "homepage" => "metadata.homepage",
        "tags" => "metadata.tags",
        "category" => "metadata.category",
        "packages.pip" | "python_packages" => "build.pip_install",
        "packages.apt" | "system_packages" => "build.apt_install",
        "packages.npm" | "node_packages" => "build.npm_install",
        "files" | "copy_files" => "build.copy",
        "commands" => "build.run",
        "env" => "build.env",
        "ports" => "network.ports",
        "cpu_count" => "resources.cpu",
        "memory_mb" => "resources.memory",
        "entrypoint" => "sandbox.startup_command",
        "workdir" => "sandbox.workdir",
        "user" => "sandbox.user",
        _ => return None,
    })
}

/// The section a key belongs to that is unknown where it stands.
pub(super) fn home(key: &str, is_shorthand: bool) -> Option<&'static str> {
    const SECTIONS: &[(&str, &[&str])] = &[
        ("`metadata`", METADATA),
        ("`base`", BASE),
        ("`build`", BUILD),
        ("`resources`", RESOURCES),
        ("`network`", NETWORK),
        ("`sandbox`", SANDBOX),
        ("`agent`", AGENT),
        ("the top of the file", TOP),
    ];
    if is_shorthand {
        return RESOURCES.contains(&key).then_some("`resources`");
    }
    SECTIONS.iter().find(|(_, keys)| keys.contains(&key)).map(|(section, _)| *section)
}

/// What a part of a copy is called here, whatever it is elsewhere.
pub(super) fn instead_in(section: &str, key: &str) -> Option<&'static str> {
    let is_source = matches!(key, "source" | "src" | "from" | "local");
    let is_target = matches!(key, "target" | "dest" | "dst" | "destination" | "to" | "remote");
    match section {
        "copy" if is_source && key != "src" => Some("src"),
        "copy" if is_target && key != "dest" => Some("dest"),
        "files" if is_source && key != "source" => Some("source"),
        "files" if is_target && key != "target" => Some("target"),
        _ => None,
    }
}

/// What is written instead of a key that other formats, older ones too, have.
pub(super) fn instead(key: &str, is_shorthand: bool) -> Option<&'static str> {
    match (key, is_shorthand) {
        ("apt_packages" | "apt_install" | "apt", true) => Some("packages.apt"),
        ("pip_packages" | "pip_install" | "pip" | "requirements", true) => Some("packages.pip"),
        ("npm_packages" | "npm_install" | "npm", true) => Some("packages.npm"),
        ("startup_command" | "cmd" | "command", true) => Some("entrypoint"),
        ("system_packages" | "apt_packages" | "packages", false) => Some("build.apt_install"),
        ("python_packages" | "pip_packages" | "requirements", false) => Some("build.pip_install"),
        ("node_packages" | "npm_packages", false) => Some("build.npm_install"),
        ("entrypoint" | "cmd", false) => Some("sandbox.startup_command"),
        ("files", false) => Some("build.copy"),
        ("expose", false) => Some("network.ports"),
        ("health_check", _) => Some("healthcheck"),
        ("commands" | "setup", false) => Some("build.run"),
        ("run" | "setup" | "build" | "network" | "sandbox" | "agent" | "healthcheck", true) => {
            Some("the full form (`version: \"1\"`, `metadata: {name: …}`, `base: {image: …}`, `build`, …)")
        }
        _ => None,
    }
}
