//! The full form of a specification as text.

use std::fmt::Write;

use abx_reference::Reference;

use crate::limits::DEFAULT_VERSION;
use crate::spec::{At, Base, Spec};

/// Writes what the flat forms can say; the other sections are empty there.
pub(super) fn write(spec: &Spec) -> String {
    let mut out = Writer::default();
    out.line(0, "version: \"1\"");
    metadata(&mut out, spec);
    if let Some(base) = &spec.base {
        let (key, value) = match base {
            Base::Image(at) => ("image", &at.value),
            Base::From(at) => ("from", &at.value),
            Base::Either(at) => (if is_image(&at.value) { "image" } else { "from" }, &at.value),
        };
        out.section("base");
        out.text(1, key, value);
    }
    build(&mut out, spec);
    resources(&mut out, spec);
    if !spec.network.ports.is_empty() {
        let ports: Vec<String> = spec.network.ports.iter().map(|port| port.value.to_string()).collect();
        out.section("network");
        out.line(1, &format!("ports: [{}]", ports.join(", ")));
    }
    sandbox(&mut out, spec);
    if let Some(capabilities) = &spec.capabilities {
        out.section("capabilities");
        for word in &capabilities.value {
            out.line(1, &format!("- {word}"));
        }
    }
    out.0
}

/// Whether a bare name is meant to be an image's: one with a tag is, everywhere but where a template has that very
/// name.
fn is_image(name: &str) -> bool {
    name.contains(':') && Reference::parse(&format!("docker://{name}")).is_ok()
}

fn metadata(out: &mut Writer, spec: &Spec) {
    let metadata = &spec.metadata;
    out.section("metadata");
    out.text(1, "name", &metadata.name);
    let fields = [
        ("display_name", &metadata.display_name),
        ("description", &metadata.description),
        ("version", &(metadata.version != DEFAULT_VERSION).then(|| metadata.version.clone())),
        ("author", &metadata.author),
        ("license", &metadata.license),
        ("homepage", &metadata.homepage),
        ("category", &metadata.category),
    ];
    for (key, value) in fields {
        if let Some(value) = value {
            out.text(1, key, value);
        }
    }
    if !metadata.tags.is_empty() {
        let tags: Vec<String> = metadata.tags.iter().map(|tag| quoted(tag)).collect();
        out.line(1, &format!("tags: [{}]", tags.join(", ")));
    }
}

fn build(out: &mut Writer, spec: &Spec) {
    let build = &spec.build;
    let lists = [&build.apt_install, &build.pip_install, &build.npm_install, &build.run];
    if lists.iter().all(|list| list.is_empty()) && build.env.is_empty() && build.copy.is_empty() {
        return;
    }
    out.section("build");
    out.list(1, "apt_install", &build.apt_install);
    out.list(1, "pip_install", &build.pip_install);
    out.list(1, "npm_install", &build.npm_install);
    if !build.env.is_empty() {
        out.line(1, "env:");
        for (name, value) in &build.env {
            out.text(2, name, &value.value);
        }
    }
    if !build.copy.is_empty() {
        out.line(1, "copy:");
        for copy in &build.copy {
            out.line(2, &format!("- src: {}", quoted(&copy.value.src.to_string_lossy())));
            out.line(2, &format!("  dest: {}", quoted(&copy.value.dest)));
        }
    }
    out.list(1, "run", &build.run);
}

fn resources(out: &mut Writer, spec: &Spec) {
    let resources = &spec.resources;
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let fields = [
        ("cpu", resources.cpu.map(|cpu| cpu.to_string())),
        ("memory", number(resources.memory)),
        ("disk", number(resources.disk)),
        ("gpu", resources.gpu.as_deref().map(quoted)),
        ("timeout", number(resources.timeout)),
        ("idle_timeout", number(resources.idle_timeout)),
    ];
    if fields.iter().all(|(_, value)| value.is_none()) {
        return;
    }
    out.section("resources");
    for (key, value) in fields {
        if let Some(value) = value {
            out.line(1, &format!("{key}: {value}"));
        }
    }
}

fn sandbox(out: &mut Writer, spec: &Spec) {
    let sandbox = &spec.sandbox;
    let command = sandbox.startup_command.as_ref().map(|command| command.value.clone());
    let fields =
        [("workdir", sandbox.workdir.clone()), ("user", sandbox.user.clone()), ("startup_command", command)];
    if fields.iter().all(|(_, value)| value.is_none()) {
        return;
    }
    out.section("sandbox");
    for (key, value) in fields {
        if let Some(value) = value {
            out.text(1, key, &value);
        }
    }
}

/// Lines, indented by two spaces a level.
#[derive(Default)]
struct Writer(String);

impl Writer {
    fn line(&mut self, level: usize, text: &str) {
        let _ = writeln!(self.0, "{:indent$}{text}", "", indent = 2 * level);
    }

    fn section(&mut self, key: &str) {
        let _ = writeln!(self.0, "\n{key}:");
    }

    fn text(&mut self, level: usize, key: &str, value: &str) {
        self.line(level, &format!("{key}: {}", quoted(value)));
    }

    fn list(&mut self, level: usize, key: &str, items: &[At<String>]) {
        if items.is_empty() {
            return;
        }
        self.line(level, &format!("{key}:"));
        for item in items {
            self.line(level + 1, &format!("- {}", quoted(&item.value)));
        }
    }
}

/// A string in double quotes, with the escapes that JSON and YAML share.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            letter
                if (letter as u32) < 0x20
                    || matches!(letter as u32, 0x7f..=0x9f | 0x2028 | 0x2029 | 0xfeff) =>
            {
                let _ = write!(quoted, "\\u{:04x}", letter as u32);
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
