//! The build as a whole.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use abx_core::fs::write_atomic;
use abx_core::{Event, Progress};
use abx_image::LayerId;

use super::project::Project;
use super::request::{DockerfileImage, DockerfileRequest};
use super::stage::State;
use crate::builder::workshop::Workshop;
use crate::builder::{Builder, Channel, StopOnDrop, records};
use crate::error::BuildError;

impl Builder {
    /// Builds the image of a Dockerfile. The work is done on threads of its own; dropping the future stops it, its
    /// processes included. Finished layers stay.
    ///
    /// # Errors
    /// [`BuildError`] of the first instruction that fails, with its line.
    pub async fn build_dockerfile(
        &self,
        request: DockerfileRequest,
        progress: &dyn Progress,
    ) -> Result<DockerfileImage, BuildError> {
        let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
        let stop = Arc::new(AtomicBool::new(false));
        let _stop_on_drop = StopOnDrop(Arc::clone(&stop));
        let builder = self.clone();
        let work = tokio::task::spawn_blocking(move || {
            builder.build_dockerfile_blocking(&request, &Channel(sender), &stop)
        });
        while let Some(event) = events.recv().await {
            progress.event(event);
        }
        work.await.map_err(|_| BuildError::Defect)?
    }

    /// [`Builder::build_dockerfile`] on this thread, until `stop` is set.
    pub fn build_dockerfile_blocking(
        &self,
        request: &DockerfileRequest,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<DockerfileImage, BuildError> {
        let built = self.build_stages(request, progress, stop);
        // Layers of a build that failed are as good.
        self.store.sync_later(&self.exe);
        built
    }

    fn build_stages(
        &self,
        request: &DockerfileRequest,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<DockerfileImage, BuildError> {
        let workshop = Workshop::new(self, progress, stop);
        let renewals = records::renewals(&self.home, self.no_cache)?;
        let project = Project::new(workshop, request, renewals)?;
        for argument in project.inputs.unused(&request.file) {
            progress.event(Event::Warning(format!(
                "no ARG of {} asks for `{argument}`",
                request.file.source.file()
            )));
        }
        let built = super::schedule::build(&project);
        // What a build that failed has read is as good.
        project.contents.save();
        built?;
        let states: Vec<&State> =
            project.graph.order.iter().filter_map(|&stage| project.stage(stage)).collect();
        let target = project.stage(project.graph.target).ok_or(BuildError::Defect)?;
        let image = records::image(&self.store, target.layers.clone(), target.config.clone(), &target.base)?;
        for (plain, renewed) in states.iter().filter_map(|state| state.renewed.as_ref()) {
            self.renew(plain, renewed)?;
        }
        let steps = states.iter().flat_map(|state| state.steps.iter().cloned()).collect();
        Ok(DockerfileImage { image, steps, own: target.own.clone() })
    }

    /// Has later builds use `renewed` where they would use `plain`; the keys of what follows come from it.
    fn renew(&self, plain: &LayerId, renewed: &LayerId) -> Result<(), BuildError> {
        let path = self.home.store("renewed").join(&plain.0);
        write_atomic(&path, renewed.0.as_bytes()).map_err(BuildError::state("write", path))
    }
}
