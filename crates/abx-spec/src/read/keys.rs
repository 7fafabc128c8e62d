//! The keys of every section.

pub(super) const TOP: &[&str] = &[
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
pub(super) const METADATA: &[&str] =
    &["name", "display_name", "description", "version", "author", "license", "homepage", "tags", "category"];
pub(super) const BASE: &[&str] = &["image", "from"];
pub(super) const BUILD: &[&str] = &["apt_install", "pip_install", "npm_install", "env", "run", "copy"];
pub(super) const COPY: &[&str] = &["src", "dest"];
pub(super) const RESOURCES: &[&str] = &["cpu", "memory", "disk", "gpu", "timeout", "idle_timeout"];
pub(super) const NETWORK: &[&str] = &["ports", "public"];
pub(super) const SANDBOX: &[&str] =
    &["mode", "workdir", "user", "shell", "startup_command", "readiness_probe"];
pub(super) const PROBE: &[&str] = &["type", "port", "command", "interval", "timeout"];
pub(super) const AGENT: &[&str] = &["description", "triggers", "instructions"];
pub(super) const HEALTHCHECK: &[&str] = &["command", "interval", "timeout", "retries"];

pub(super) const SHORTHAND: &[&str] = &[
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
pub(super) const PACKAGES: &[&str] = &["pip", "apt", "npm"];
pub(super) const FILE: &[&str] = &["source", "target"];

/// Where a key that is unknown in its section is at home.
pub(super) fn home(key: &str, is_shorthand: bool) -> Option<&'static str> {
    if is_shorthand {
        return match key {
            "system_packages" | "apt_packages" | "apt_install" => Some("`packages.apt`"),
            "python_packages" | "pip_packages" | "pip_install" | "requirements" => Some("`packages.pip`"),
            "node_packages" | "npm_packages" | "npm_install" => Some("`packages.npm`"),
            "build" | "network" | "sandbox" | "agent" | "healthcheck" => {
                Some("the full form, which begins with `version: \"1\"` and `metadata: {name: …}`")
            }
            _ => None,
        };
    }
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
    let alias = match key {
        "entrypoint" | "cmd" | "command" => Some("`sandbox`, as `startup_command`"),
        "packages" => Some("`build`, as `apt_install`, `pip_install` or `npm_install`"),
        "files" => Some("`build`, as `copy`"),
        "expose" => Some("`network`, as `ports`"),
        _ => None,
    };
    alias.or_else(|| SECTIONS.iter().find(|(_, keys)| keys.contains(&key)).map(|(section, _)| *section))
}
