//! A sandbox's files become a local template.

use std::time::{SystemTime, UNIX_EPOCH};

use abx_core::progress::{Unit, start};
use abx_core::{Event, Progress};
use abx_image::{Digest, ImageId, LayerId, LayerRecord};
use abx_source::{BaseImage, Lineage, Package};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{Context, Error, Sandbox};

/// A template that was made of a sandbox.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// The sandbox's id.
    pub sandbox: String,
    pub name: String,
    pub tag: String,
    /// The image's id.
    pub image: String,
    /// Files and directories that the sandbox had written.
    pub entries: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Seconds the sandbox stood still.
    pub still: f64,
}

/// Makes a local template `name:tag` of what is in the sandbox's file system now. Its limits, ports, environment and
/// behaviour are those of the sandbox's template, and the cores, memory and disk those the sandbox has; no process is in
/// it, nothing that `--env` set, nothing of the host's network configuration. A sandbox that runs stands still meanwhile.
///
/// # Errors
/// E2009; E2005 for a name that no template can have; whatever copying reports. Nothing is left of it then.
pub async fn snapshot(
    context: &Context,
    sandbox: &Sandbox,
    name: &str,
    tag: &str,
    progress: &dyn Progress,
) -> Result<Snapshot, Error> {
    abx_source::check_local_name(name, tag)?;
    let _in_use = context.make_store().await?;
    let store = context.store();
    let settings = sandbox.settings();
    let base = ImageId(settings.image.clone());
    let base = store.image(&base)?.ok_or_else(|| Error::ImageGone { image: base.0.clone() })?;
    let id = sandbox.record_id();
    let packages = packages(&abx_engine::registry::template(&context.home, id)?, sandbox, name, tag)?;

    let task = start(progress, format!("snapshot of {}", sandbox.id()), None, Unit::Items);
    let staged = store.begin_layer()?;
    let copied = abx_engine::snapshot::copy_files(&context.home, id, &staged.fs()).await?;
    let layer =
        staged.publish(layer_id(sandbox.id()), &LayerRecord::new(format!("snapshot of {}", sandbox.id())))?;
    let mut config = base.config;
    config.history.push(format!("snapshot of a sandbox of {}", settings.template));
    let layers = base.layers.into_iter().chain([layer]).collect();
    let image = store.put_image(layers, config, base.origin)?;
    // The specification before the tag: a name that can be found has both.
    let base = BaseImage::Stored { name: name.to_owned(), tag: tag.to_owned(), place: None };
    abx_source::keep(&context.home, name, tag, &Lineage { packages, base, locked: None })?;
    store.tag(name, tag, &image.id)?;
    store.sync_later(&context.exe);
    task.finish("done");
    if abx_source::builtins().iter().any(|builtin| builtin.name == name) {
        let text = format!("`{name}` is a built-in template, which goes before: give another name");
        progress.event(Event::Warning(text));
    }
    Ok(Snapshot {
        sandbox: sandbox.id().to_owned(),
        name: name.to_owned(),
        tag: tag.to_owned(),
        image: image.id.0,
        entries: copied.entries,
        bytes: copied.bytes,
        still: copied.still.as_secs_f64(),
    })
}

/// No two snapshots are of the same moment.
fn layer_id(sandbox: &str) -> LayerId {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    LayerId(Digest::of(format!("snapshot {sandbox} {now}").as_bytes()).hex().to_owned())
}

/// The files of the sandbox's template, and one that says what is the snapshot's own.
fn packages(template: &str, sandbox: &Sandbox, name: &str, tag: &str) -> Result<Vec<Package>, Error> {
    let damaged = |source| Error::TemplateDamaged { sandbox: sandbox.id().to_owned(), source };
    let mut kept: Vec<Value> = serde_json::from_str(template).map_err(|error| damaged(error.into()))?;
    let settings = sandbox.settings();
    let parent = match kept.last() {
        Some(parent) => json!({ "from": parent["name"] }),
        None => json!({ "image": settings.template }),
    };
    // JSON is YAML.
    let text = json!({
        "version": "1",
        "metadata": {
            "name": name,
            "version": if is_release(tag) { tag } else { "0.0.0" },
            "description": format!("Snapshot of a sandbox of {}", settings.template),
        },
        "base": parent,
        "resources": { "cpu": settings.cpu, "memory": settings.memory, "disk": settings.disk },
        "network": { "ports": settings.ports.iter().map(|port| port.guest).collect::<Vec<_>>() },
    });
    kept.push(json!({ "name": name, "text": text.to_string(), "has_healthcheck": false }));
    abx_source::kept::from_text(&Value::from(kept).to_string()).map_err(damaged)
}

/// `1.2.3`, of digits alone.
fn is_release(tag: &str) -> bool {
    let parts: Vec<&str> = tag.split('.').collect();
    let is_number = |part: &&str| {
        part.chars().all(|char| char.is_ascii_digit())
            && (*part == "0" || !part.starts_with('0'))
            && !part.is_empty()
            && part.len() < 10
    };
    parts.len() == 3 && parts.iter().all(is_number)
}

#[cfg(test)]
mod tests {
    use super::is_release;

    #[test]
    fn a_tag_that_is_a_version_is_the_templates() {
        for (tag, expect) in
            [("1.2.3", true), ("latest", false), ("1.2", false), ("01.2.3", false), ("1..3", false)]
        {
            assert_eq!(is_release(tag), expect, "{tag}");
        }
    }
}
