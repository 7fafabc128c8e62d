//! What a reference stands for.

use abx_core::Progress;
use abx_reference::Reference;
use abx_source::{BaseImage, PackageRoot, RegistryImage};
use serde::Serialize;

use crate::{Context, Error, FetchOptions};

/// What a reference comes to: something that does not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// `built-in`, `local`, `image`, `directory`, `archive`, `vendored` or `github`.
    pub kind: &'static str,
    pub owner: Option<String>,
    pub repo: Option<String>,
    pub subdir: Option<String>,
    /// As it was asked for; absent where the default branch was.
    #[serde(rename = "ref")]
    pub git_ref: Option<String>,
    /// The tag that a range or `latest` has chosen, of git or of an image.
    pub tag: Option<String>,
    pub commit: Option<String>,
    /// Of the package's content, or of the image.
    pub digest: Option<String>,
    /// The one spelling of the reference that stands for the same next year.
    pub canonical: String,
}

/// Says what a reference stands for now, without building it.
pub async fn resolve(
    context: &Context,
    reference: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Resolved, Error> {
    let _in_use = context.look_at_store().await;
    let parsed = Reference::parse(reference).map_err(abx_source::SourceError::from)?;
    let settings = crate::github::settings(context, options);
    if let Reference::Registry(image) = &parsed
        && !options.frozen
    {
        let source = crate::lock::hold(context, reference, &settings, progress).await?;
        return Ok(in_registry(abx_source::pin_image(image, &source, &settings).await?));
    }
    let source = match options.frozen {
        true => {
            let source = super::fetch(context, reference, options, progress).await?;
            let lineage = abx_source::resolve(reference, &source)?;
            crate::lock::check(reference, &lineage, &source, options, progress)?;
            source
        }
        false => crate::lock::hold(context, reference, &settings, progress).await?,
    };
    let source = abx_source::fetch_leaf(&parsed, &source, &settings, progress).await?;
    let leaf = abx_source::leaf(&parsed, &source)?;
    let digest = leaf.as_ref().map(abx_source::Package::digest).transpose()?;
    let parsed = abx_source::stands_for(&parsed, &source)?;
    let mut resolved = Resolved {
        kind: "image",
        owner: None,
        repo: None,
        subdir: None,
        git_ref: None,
        tag: None,
        commit: None,
        digest,
        canonical: parsed.to_string(),
    };
    match &parsed {
        Reference::Github(github) => {
            resolved.kind = "github";
            resolved.owner = Some(github.owner().to_owned());
            resolved.repo = Some(github.repository().to_owned());
            resolved.subdir = github.subdirectory().map(str::to_owned);
            resolved.git_ref = github.git_ref().map(ToString::to_string);
            if let Some(checkout) = source.checkouts.iter().find(|checkout| checkout.serves(github)) {
                resolved.tag = checkout.chosen.clone();
                resolved.commit = Some(checkout.commit.clone());
                resolved.canonical = github.at(&checkout.commit).to_string();
            }
        }
        Reference::Local(_) => match leaf.as_ref().map(|package| &package.root) {
            Some(PackageRoot::Dir(root)) if source.archives.iter().any(|archive| archive.root == *root) => {
                resolved.kind = "archive";
            }
            Some(PackageRoot::Dir(_)) => resolved.kind = "directory",
            _ => {
                resolved.kind = "vendored";
                if let BaseImage::Vendored { vendored, .. } = abx_source::resolve(reference, &source)?.base {
                    resolved.digest = Some(vendored.image.to_string());
                }
            }
        },
        Reference::Registry(image) => {
            return Ok(in_registry(abx_source::pin_image(image, &source, &settings).await?));
        }
        Reference::Name(_) => match leaf {
            Some(package) if !matches!(package.root, PackageRoot::Stored { .. }) => {
                resolved.kind = "built-in";
                let metadata = &package.spec.metadata;
                resolved.canonical = format!("{}:{}", metadata.name, metadata.version);
            }
            _ => {
                resolved.kind = "local";
                if let BaseImage::Stored { name, tag, .. } = abx_source::resolve(reference, &source)?.base {
                    resolved.digest =
                        context.store().lookup(&name, &tag)?.map(|id| format!("sha256:{}", id.0));
                    resolved.canonical = format!("{name}:{tag}");
                }
            }
        },
    }
    Ok(resolved)
}

/// An image, by the manifest its tag or range stands for.
fn in_registry(image: RegistryImage) -> Resolved {
    Resolved {
        kind: "image",
        owner: None,
        repo: None,
        subdir: None,
        git_ref: None,
        commit: None,
        canonical: image.pinned().to_string(),
        tag: image.tag,
        digest: image.digest,
    }
}
