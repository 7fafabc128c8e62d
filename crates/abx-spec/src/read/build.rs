//! `base` values and `build`.

use std::path::{Component, Path, PathBuf};

use abx_reference::Reference;

use super::keys;
use super::reader::{Fields, Reader};
use crate::problem::Problem;
use crate::spec::{At, Build, Copy};
use crate::yaml::{Node, Span, Value};

pub(super) fn read(reader: &mut Reader<'_>, node: &Node) -> Build {
    let fields = reader.fields(node, "build", keys::BUILD);
    Build {
        apt_install: packages(reader, &fields, "build", "apt_install", Kind::Apt),
        pip_install: packages(reader, &fields, "build", "pip_install", Kind::Pip),
        npm_install: packages(reader, &fields, "build", "npm_install", Kind::Npm),
        env: env(reader, &fields),
        copy: copies(reader, &fields, "build", "copy", keys::COPY),
        run: reader.texts(&fields, "build", "run"),
    }
}

/// The name of a container image, without a scheme.
pub(super) fn image(reader: &mut Reader<'_>, node: &Node) -> Option<At<String>> {
    let text = reader.text(node, "base.image")?.value;
    let reference = if text.contains("://") { text.clone() } else { format!("docker://{text}") };
    match Reference::parse(&reference) {
        Ok(Reference::Registry(registry)) => Some(reader.at(registry.image(), node.span)),
        Ok(_) => {
            reader
                .fault(Problem::Image { text, detail: "it is another form of reference".into() }, node.span);
            None
        }
        Err(error) => {
            let text = abx_core::without_credentials(&text).into_owned();
            reader.fault(Problem::Image { text, detail: error.reason.to_string() }, node.span);
            None
        }
    }
}

/// A reference to a template. An image in a registry may be one, and stands for itself where it is none.
pub(super) fn from(reader: &mut Reader<'_>, node: &Node) -> Option<At<String>> {
    let text = reader.text(node, "base.from")?;
    match Reference::parse(&text.value) {
        Ok(_) => Some(text),
        Err(error) => {
            reader.fault(Problem::Reference(error), node.span);
            None
        }
    }
}

/// Whose package names.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Apt,
    Pip,
    Npm,
}

pub(super) fn packages(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    section: &str,
    key: &str,
    kind: Kind,
) -> Vec<At<String>> {
    let key_path = super::value::join(section, key);
    let mut packages = Vec::new();
    for node in reader.items(fields, section, key) {
        let Some(package) = reader.text(node, &key_path) else { continue };
        match package_fault(&package.value, kind) {
            Some(hint) => reader.fault(Problem::Package { text: package.value, hint }, node.span),
            None => packages.push(package),
        }
    }
    packages
}

/// Options and several packages in one entry are refused: what reaches the tool is one name.
fn package_fault(text: &str, kind: Kind) -> Option<&'static str> {
    if text.starts_with('-') {
        return Some("options of the tool cannot stand here; write the whole command to `build.run`");
    }
    if text.chars().any(char::is_control) {
        return Some("write one package an entry");
    }
    let is_sound = match kind {
        Kind::Apt => {
            let allowed = |letter: u8| letter.is_ascii_alphanumeric() || b"+.-:=~/_*".contains(&letter);
            text.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
                && text.bytes().all(allowed)
        }
        Kind::Pip => true,
        Kind::Npm => !text.contains(' ') || text.contains("@>") || text.contains("@<"),
    };
    match (is_sound, kind) {
        (true, _) => None,
        (false, Kind::Apt) => Some("write one Debian package an entry, like `libpq-dev` or `git=1:2.39*`"),
        (false, _) => Some("write one package an entry"),
    }
}

pub(super) fn env(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<(String, At<String>)> {
    let Some(node) = fields.get("env") else { return Vec::new() };
    let Value::Map(entries) = &node.value else {
        let hint = "write one `NAME: value` a line, without dashes".to_owned();
        reader.wrong_type(node, "env", "a map of names to values", Some(hint));
        return Vec::new();
    };
    let mut env = Vec::new();
    for entry in entries {
        if entry.key == "<<" {
            let instead = Some("every variable itself: YAML 1.2 has no merge keys");
            let (key, section, near, home) = (entry.key.clone(), "env", None, None);
            reader.fault(Problem::UnknownKey { key, section, near, home, instead }, entry.key_span);
            continue;
        }
        if !is_env_name(&entry.key) {
            reader.fault(Problem::EnvName { name: entry.key.clone() }, entry.key_span);
            continue;
        }
        match &entry.node.value {
            Value::Scalar(_) if entry.node.is_null() => {
                reader.fault(Problem::EnvNull { name: entry.key.clone() }, entry.key_span);
            }
            Value::Scalar(scalar) if scalar.text.contains('\0') => {
                reader.fault(Problem::Nul { key: format!("env.{}", entry.key) }, entry.node.span);
            }
            // As written: 0x10, 1.10 and yes are text for a program.
            Value::Scalar(scalar) => {
                env.push((entry.key.clone(), reader.at(scalar.text.clone(), entry.node.span)));
            }
            _ => reader.wrong_type(&entry.node, &format!("env.{}", entry.key), "a string", None),
        }
    }
    env
}

fn is_env_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"_.-".contains(&letter))
}

/// The entries of `copy`, or of the shorthand's `files`; `names` are the keys of source and target.
pub(super) fn copies(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    section: &str,
    key: &str,
    names: &'static [&'static str],
) -> Vec<At<Copy>> {
    let items = reader.items(fields, section, key);
    items.iter().filter_map(|node| copy(reader, node, names)).collect()
}

fn copy(reader: &mut Reader<'_>, node: &Node, names: &'static [&'static str]) -> Option<At<Copy>> {
    let [source, target] = names else { return None };
    let section = if reader.is_shorthand { "files" } else { "copy" };
    let fields = reader.fields(node, section, names);
    if !matches!(node.value, Value::Map(_)) {
        return None;
    }
    // Who calls them otherwise is told so, and no more.
    let others: Vec<&str> = if let Value::Map(entries) = &node.value {
        entries.iter().filter_map(|entry| keys::instead_in(section, &entry.key)).collect()
    } else {
        Vec::new()
    };
    let mut wanted = |key: &'static str| {
        if fields.get(key).is_none() && !others.contains(&key) {
            reader.fault(Problem::Missing { key }, node.span);
        }
        fields.get(key).and_then(|node| reader.text(node, key).map(|text| (text.value, node.span)))
    };
    let (src, dest) = (wanted(source), wanted(target));
    checked_copy(reader, source, src, target, dest)
}

/// A copy from inside the package to a path that means the same whoever reads it; each path with its place.
pub(super) fn checked_copy(
    reader: &mut Reader<'_>,
    source: &'static str,
    src: Option<(String, Span)>,
    target: &'static str,
    dest: Option<(String, Span)>,
) -> Option<At<Copy>> {
    let src = src.and_then(|(path, span)| match inside(&path) {
        Some(inside) => Some((inside, span)),
        None => {
            reader.fault(Problem::PathLeaves { key: source, path }, span);
            None
        }
    });
    let (dest, span) = dest?;
    if Path::new(&dest).components().any(|part| part == Component::ParentDir) {
        reader.fault(Problem::PathGoesUp { key: target, path: dest }, span);
        return None;
    }
    if dest.starts_with('~') {
        reader.fault(Problem::PathTilde { key: target, path: dest }, span);
        return None;
    }
    let (src, span) = src?;
    Some(reader.at(Copy { src, dest }, span))
}

/// The path without `.` and `..`; `None` where it is absolute or leaves its start.
fn inside(path: &str) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !inside.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    if inside.as_os_str().is_empty() {
        inside.push(".");
    }
    Some(inside)
}
