//! The flat shorthand, desugared into the full model.

use abx_reference::Reference;

use super::build::{Kind, copies, env, image, packages};
use super::full::{describe, ports, resources, version};
use super::keys;
use super::older;
use super::reader::{Fields, Reader};
use super::sandbox::{absolute, capabilities, user};
use crate::limits::DEFAULT_VERSION;
use crate::problem::Problem;
use crate::spec::{Base, Build, Clearable, Metadata, Network, Sandbox, Spec};
use crate::yaml::Node;

pub(super) fn read(reader: &mut Reader<'_>, root: &Node) -> Spec {
    reader.is_shorthand = true;
    let top = reader.fields(root, "", keys::SHORTHAND);
    let metadata = describe(reader, &top, "");
    let version = top.get("version").and_then(|node| version(reader, node, true));
    let mut cleared = Vec::new();
    if top.is_null("entrypoint") {
        cleared.push(Clearable::StartupCommand);
    }
    let mut build = build(reader, &top);
    let mut resources = resources(reader, &top, &mut cleared);
    older::read(reader, &top, &mut build, &mut resources);
    Spec {
        metadata: Metadata { version: version.unwrap_or_else(|| DEFAULT_VERSION.to_owned()), ..metadata },
        base: top.get("base").and_then(|node| base(reader, node)),
        build,
        resources,
        network: Network { ports: ports(reader, &top, ""), public: None, egress: None },
        sandbox: Sandbox {
            workdir: absolute(reader, &top, "workdir", "workdir"),
            user: user(reader, &top),
            startup_command: top.get("entrypoint").and_then(|node| reader.text(node, "entrypoint")),
            ..Sandbox::default()
        },
        capabilities: capabilities(reader, &top),
        cleared,
        ..Spec::default()
    }
}

/// A bare name is a template, else an image; with a `/` it is an image unless it is written as a template.
fn base(reader: &mut Reader<'_>, node: &Node) -> Option<Base> {
    let text = reader.text(node, "base")?;
    let is_image = text.value.contains('/') && !text.value.contains('@') && !text.value.contains("//")
        || text.value.contains("@sha256:");
    match Reference::parse(&text.value) {
        Ok(Reference::Local(_) | Reference::Registry(_)) => Some(Base::From(text)),
        _ if is_image => image(reader, node).map(Base::Image),
        Ok(Reference::Name(_)) => Some(Base::Either(text)),
        Ok(Reference::Github(_)) => Some(Base::From(text)),
        Err(error) => {
            reader.fault(Problem::Reference(error), node.span);
            None
        }
    }
}

fn build(reader: &mut Reader<'_>, top: &Fields<'_>) -> Build {
    let mut build = Build {
        env: env(reader, top),
        copy: copies(reader, top, "", "files", keys::FILE),
        ..Build::default()
    };
    if let Some(node) = top.get("packages") {
        let fields = reader.fields(node, "packages", keys::PACKAGES);
        build.apt_install = packages(reader, &fields, "packages", "apt", Kind::Apt);
        build.pip_install = packages(reader, &fields, "packages", "pip", Kind::Pip);
        build.npm_install = packages(reader, &fields, "packages", "npm", Kind::Npm);
    }
    build
}
