//! What a template is: what its file says, what comes with it, which versions there are, whether it is built here.

mod built;
mod papers;
mod versions;

use abx_core::Progress;
use abx_image::{ImageStore, Origin};
use abx_source::{BaseImage, Lineage};
use abx_spec::{Effective, Mode};
use serde::Serialize;

pub(crate) use built::BuiltHere;
pub use papers::{Example, Papers};
pub(crate) use versions::newest_first;
pub use versions::{Version, VersionKind, Versions};

use super::Resolved;
use crate::{Context, Error, FetchOptions};

/// All there is to say of a template without building it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    /// What the reference stands for.
    #[serde(flatten)]
    pub resolved: Resolved,
    pub template: Template,
    /// What it inherits from: its parent first, the image at the bottom last.
    pub base: Vec<String>,
    pub resources: Resources,
    pub sandbox: SandboxInfo,
    pub agent: Agent,
    /// Bytes on disk; `None` where it is not built here.
    pub size: Option<u64>,
    pub versions: Versions,
    #[serde(flatten)]
    pub papers: Papers,
}

/// What its file says of the template itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Template {
    pub name: String,
    pub display_name: Option<String>,
    pub description: Option<String>,
    pub version: Option<String>,
    pub author: Option<String>,
    pub license: Option<String>,
    pub homepage: Option<String>,
    pub category: Option<String>,
    pub tags: Vec<String>,
}

/// What a sandbox gets unless the caller says otherwise: cores, MB and seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resources {
    pub cpu: f64,
    pub memory: u64,
    pub disk: u64,
    pub gpu: Option<String>,
    pub timeout: u64,
    pub idle_timeout: u64,
}

/// How a sandbox of it behaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SandboxInfo {
    pub mode: &'static str,
    pub workdir: String,
    pub user: String,
    pub ports: Vec<u16>,
    pub capabilities: Vec<String>,
    pub startup_command: Option<String>,
}

/// What it tells an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agent {
    pub description: Option<String>,
    pub triggers: Vec<String>,
    pub instructions: Option<String>,
}

/// Gathers it. A template on GitHub is fetched, nothing is built.
pub async fn info(
    context: &Context,
    reference: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Info, Error> {
    let _in_use = context.look_at_store().await;
    let resolved = super::resolve(context, reference, options, progress).await?;
    // Just now it was found out what there is.
    let options = &FetchOptions { no_cache: false, ..options.clone() };
    let source = super::fetch(context, reference, options, progress).await?;
    let lineage = abx_source::resolve(reference, &source)?;
    let effective = lineage.effective();
    let versions = versions::versions(context, reference, &source, &lineage, options).await?;
    let papers = lineage.leaf().map(Papers::of).unwrap_or_default();
    let size = BuiltHere::of(context, &lineage)?.map(|built| built.size(&context.store())).transpose()?;
    Ok(Info {
        template: template(&lineage, &effective),
        base: base(&lineage, &context.store())?,
        resources: Resources {
            cpu: effective.cpu,
            memory: effective.memory,
            disk: effective.disk,
            gpu: effective.gpu.clone(),
            timeout: effective.timeout,
            idle_timeout: effective.idle_timeout,
        },
        sandbox: SandboxInfo {
            mode: match effective.mode {
                Mode::Ephemeral => "ephemeral",
                Mode::Persistent => "persistent",
            },
            workdir: effective.workdir.clone(),
            user: effective.user.clone(),
            ports: effective.ports.clone(),
            capabilities: effective.capabilities.clone(),
            startup_command: effective.startup_command.as_ref().map(|command| command.value.clone()),
        },
        agent: Agent {
            description: effective.agent.description.clone(),
            triggers: effective.agent.triggers.clone(),
            instructions: effective.agent.instructions.clone(),
        },
        resolved,
        size,
        versions,
        papers,
    })
}

/// An image that was named directly has nothing but its name.
fn template(lineage: &Lineage, effective: &Effective) -> Template {
    if lineage.packages.is_empty() {
        return Template { name: bottom(&lineage.base), ..Template::default() };
    }
    let metadata = effective.metadata.clone();
    Template {
        name: metadata.name,
        display_name: metadata.display_name,
        description: metadata.description,
        version: Some(metadata.version),
        author: metadata.author,
        license: metadata.license,
        homepage: metadata.homepage,
        category: metadata.category,
        tags: metadata.tags,
    }
}

fn base(lineage: &Lineage, store: &ImageStore) -> Result<Vec<String>, Error> {
    let parents = lineage.packages.iter().rev().skip(1).map(|package| package.display.clone());
    // A local template and what it inherits from are in an image of its own, which is no base of it.
    let bottom = match &lineage.base {
        BaseImage::Stored { name, tag, .. } if !lineage.packages.is_empty() => {
            let image = store.lookup(name, tag)?.map(|id| store.image(&id)).transpose()?.flatten();
            image.map(|image| match image.origin {
                Origin::Registry { name, .. } => name,
                Origin::Archive { release, .. } => format!("debian:{release}"),
            })
        }
        _ => None,
    };
    Ok(parents.chain([bottom.unwrap_or_else(|| self::bottom(&lineage.base))]).collect())
}

fn bottom(base: &BaseImage) -> String {
    match base {
        BaseImage::Image { name, .. } => name.clone(),
        BaseImage::Stored { name, tag, .. } => format!("{name}:{tag}"),
        BaseImage::Vendored { vendored, .. } => format!("{}:{}", vendored.name, vendored.version),
        BaseImage::Scratch => "scratch".to_owned(),
    }
}
