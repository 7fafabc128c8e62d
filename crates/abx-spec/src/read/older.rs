//! The older flat dialect of public template repositories: the shorthand under other keys, read with a warning for each.

use super::build::{Kind, checked_copy, packages};
use super::reader::{Fields, Reader};
use crate::problem::Problem;
use crate::spec::{At, Build, Copy, Resources};
use crate::yaml::{Node, Value};

/// A key and what it is called now.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("system_packages", "packages.apt"),
    ("python_packages", "packages.pip"),
    ("node_packages", "packages.npm"),
    ("commands", "build.run"),
    ("copy_files", "files"),
    ("cpu_count", "resources.cpu"),
    ("memory_mb", "resources.memory"),
];

/// How source and target of a file were called.
const COPY_KEYS: &[[&str; 2]] = &[["src", "dest"], ["source", "target"], ["source", "destination"]];

/// What the key is called now.
pub(super) fn now(key: &str) -> Option<&'static str> {
    KEYS.iter().find(|(older, _)| *older == key).map(|(_, now)| *now)
}

/// Adds what older keys say to what the file's other keys did.
pub(super) fn read(reader: &mut Reader<'_>, top: &Fields<'_>, build: &mut Build, resources: &mut Resources) {
    build.apt_install.extend(packages(reader, top, "", "system_packages", Kind::Apt));
    build.pip_install.extend(packages(reader, top, "", "python_packages", Kind::Pip));
    build.npm_install.extend(packages(reader, top, "", "node_packages", Kind::Npm));
    build.run.extend(reader.texts(top, "", "commands"));
    for node in reader.items(top, "", "copy_files") {
        build.copy.extend(copy(reader, node));
    }
    if let Some(node) = top.get("cpu_count") {
        let bounds = reader.bounds.cpu.clone();
        resources.cpu = resources.cpu.or(reader.float(node, "cpu_count", bounds));
    }
    if let Some(node) = top.get("memory_mb") {
        let bounds = reader.bounds.memory.clone();
        resources.memory = resources.memory.or(reader.megabytes(node, "memory_mb", bounds));
    }
}

/// `{src: …, dest: …}` under any of its names, or `source:target` in one string.
fn copy(reader: &mut Reader<'_>, node: &Node) -> Option<At<Copy>> {
    if let Value::Scalar(scalar) = &node.value {
        let Some((src, dest)) = scalar.text.split_once(':') else {
            let hint = Some("write `{src: …, dest: …}`".to_owned());
            reader.wrong_type(node, "copy_files", "a source and a target", hint);
            return None;
        };
        let at = |path: &str| Some((path.trim().to_owned(), node.span));
        return checked_copy(reader, "src", at(src), "dest", at(dest));
    }
    let Value::Map(entries) = &node.value else {
        reader.wrong_type(node, "copy_files", "a source and a target", None);
        return None;
    };
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    let keys = COPY_KEYS.iter().find(|keys| keys.iter().all(|key| has(key))).unwrap_or(&COPY_KEYS[0]);
    let fields = reader.fields(node, "copy", keys);
    let mut path = |key: &'static str| match fields.get(key) {
        Some(node) => reader.text(node, key).map(|text| (text.value, node.span)),
        None => {
            reader.fault(Problem::Missing { key }, node.span);
            None
        }
    };
    let (src, dest) = (path(keys[0]), path(keys[1]));
    checked_copy(reader, keys[0], src, keys[1], dest)
}
