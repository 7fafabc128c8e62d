//! A lineage with a Dockerfile in it: what lies below first, then the Dockerfile, then the steps on top.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use abx_build::{Builder, DockerfileImage, DockerfileRequest, Own};
use abx_core::Progress;
use abx_image::Image;
use abx_source::dockerfile::Origin;
use abx_source::{BaseImage, Dockerfile, Lineage, Package, PackageRoot, Said};

use super::{BuiltLineage, How, build_with};
use crate::{Context, Error, FetchOptions};

/// What a Dockerfile is built with.
pub(super) struct Ground<'a> {
    pub(super) context: &'a Context,
    pub(super) builder: &'a Builder,
    pub(super) how: How<'a>,
    pub(super) options: &'a FetchOptions,
    pub(super) progress: &'a dyn Progress,
}

impl Ground<'_> {
    /// Builds a lineage whose last Dockerfile is that of the member `at`.
    pub(super) async fn build(&self, lineage: &Lineage, at: usize) -> Result<BuiltLineage, Error> {
        let below = Lineage { packages: lineage.packages[..at].to_vec(), ..lineage.clone() };
        let mut as_built = lineage.clone();
        let mut package = lineage.packages[at].clone();
        let (Some(dockerfile), PackageRoot::Dir(root)) = (package.dockerfile.clone(), &package.root) else {
            return Err(abx_build::BuildError::Defect.into());
        };
        let root = root.clone();
        let (base, members) = self.base(&dockerfile, below).await?;
        as_built.packages.splice(..at, members);
        let DockerfileImage { image, own, .. } =
            self.image(&package, &dockerfile, root, base.into_iter().collect()).await?;
        package.said(&said(own));
        as_built.packages[at] = package;
        let built = self.builder.build(&on_top(&as_built, at), image, self.progress).await?;
        Ok(BuiltLineage { built, lineage: as_built })
    }

    /// The image that the Dockerfile begins with, by its name there, and the packages in it as they were built.
    async fn base(
        &self,
        dockerfile: &Dockerfile,
        below: Lineage,
    ) -> Result<(Option<(String, Image)>, Vec<Package>), Error> {
        let (context, options, progress) = (self.context, self.options, self.progress);
        Ok(match &dockerfile.origin {
            Origin::Scratch => (None, Vec::new()),
            Origin::Image(name) => {
                let store = context.store();
                let image = crate::base_image::base_image(context, &store, &below, options, progress).await?;
                (Some((name.clone(), image)), below.packages)
            }
            Origin::Template { name, .. } => {
                let (image, members) = self.template(&below).await?;
                (Some((name.clone(), image)), members)
            }
        })
    }

    /// The image of a template as a Dockerfile begins with it: its steps are root's, whoever its sandboxes run as.
    async fn template(&self, lineage: &Lineage) -> Result<(Image, Vec<Package>), Error> {
        let how = How { secrets: &[], ..self.how };
        let building = build_with(self.context, lineage, how, self.options, self.progress);
        let BuiltLineage { built, lineage } = Box::pin(building).await?;
        let mut image = built.image;
        image.config.user.clear();
        Ok((image, lineage.packages))
    }

    /// Gets everything else that the Dockerfile takes files from, and builds it.
    async fn image(
        &self,
        package: &Package,
        dockerfile: &Dockerfile,
        context: PathBuf,
        mut bases: BTreeMap<String, Image>,
    ) -> Result<DockerfileImage, Error> {
        for (name, lineage) in &dockerfile.templates {
            let (image, _) = self.template(lineage).await?;
            bases.insert(name.clone(), image);
        }
        let build_args: Vec<(String, String)> = dockerfile.inputs.arguments.clone().into_iter().collect();
        let (file, target) = (dockerfile.file.as_ref(), dockerfile.target.as_deref());
        let platform = dockerfile.inputs.target.clone();
        let store = self.context.store();
        for needed in abx_build::froms(file, &build_args, &platform, target)? {
            // Those of templates are there.
            if let Entry::Vacant(place) = bases.entry(needed.name) {
                let (context, options, progress) = (self.context, self.options, self.progress);
                let known = dockerfile.images.iter().find(|(name, _)| name == place.key());
                let image = (place.key().as_str(), known.and_then(|(_, locked)| locked.as_ref()));
                let found = crate::base_image::image(context, &store, image, options, progress).await?;
                place.insert(found);
            }
        }
        let request = DockerfileRequest {
            file: file.clone(),
            context,
            ignore: dockerfile.ignore.as_deref().cloned(),
            target: dockerfile.target.clone(),
            build_args,
            secrets: self.how.secrets.to_vec(),
            platform,
            bases,
            name: package.name.clone(),
        };
        Ok(self.builder.build_dockerfile(request, self.progress).await?)
    }
}

/// What is left to build on the image of the member `at`: everything below is in it.
fn on_top(lineage: &Lineage, at: usize) -> Lineage {
    let mut lineage = lineage.clone();
    for package in &mut lineage.packages[..at] {
        package.root = PackageRoot::Stored { has_healthcheck: package.has_healthcheck() };
    }
    let name = lineage.packages[at].name.clone();
    // An image of this machine that anybody's instructions have made.
    lineage.base = BaseImage::Stored { name, tag: "latest".to_owned(), place: None };
    lineage
}

fn said(own: Own) -> Said {
    Said {
        cmd: own.cmd,
        entrypoint: own.entrypoint,
        expose: own.expose,
        workdir: own.workdir,
        user: own.user,
        healthcheck: own.healthcheck,
    }
}
