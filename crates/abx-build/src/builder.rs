//! A plan's layers, each taken from the store or made, and the image they come to.

pub(crate) mod layer;
pub(crate) mod records;
mod stored;
pub(crate) mod workshop;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abx_core::host::HostNetwork;
use abx_core::{Event, Home, Progress};
use abx_image::{Image, ImageStore, Origin};
use abx_source::{BaseImage, Lineage};
use abx_spec::Effective;

use crate::error::BuildError;
pub use stored::stored_layers;
use workshop::Workshop;

/// Builds images of lineages. Several may do so at once, in several processes: each layer is made by one.
#[derive(Clone, Debug)]
pub struct Builder {
    pub store: ImageStore,
    pub home: Home,
    /// What steps see of the host; reaches neither keys nor layers.
    pub host: HostNetwork,
    /// The executable with the entries of the step helper (`abx_isolate`) and of the store's (`abx_image`).
    pub exe: PathBuf,
    /// Makes every step anew, and has later builds use the new layers.
    pub no_cache: bool,
    /// Never leaves this machine: a package step that is not in the store fails.
    pub offline: bool,
    pub limits: Limits,
}

/// What one step may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// How long its process may run.
    pub timeout: Duration,
    /// MB; `None` for all there is.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(3600), memory: None, pids: Some(16_384) }
    }
}

/// A built template.
#[derive(Clone, Debug)]
pub struct Built {
    pub image: Image,
    /// How to run it.
    pub effective: Effective,
    /// In the order of the plan.
    pub steps: Vec<StepOutcome>,
}

/// What became of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOutcome {
    pub title: String,
    pub template: String,
    pub outcome: Outcome,
}

/// Where a layer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was in the store.
    Cached,
    /// It was made now.
    Built,
}

impl Builder {
    /// Builds `lineage` on `base`. The work is done on a thread for blocking work; dropping the future stops
    /// it, its processes included. Finished steps stay.
    ///
    /// # Errors
    /// [`BuildError`] of the first step that fails; the next run goes on with that step.
    pub async fn build(
        &self,
        lineage: &Lineage,
        base: Image,
        progress: &dyn Progress,
    ) -> Result<Built, BuildError> {
        let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
        let stop = Arc::new(AtomicBool::new(false));
        let _stop_on_drop = StopOnDrop(Arc::clone(&stop));
        let (builder, lineage) = (self.clone(), lineage.clone());
        let work = tokio::task::spawn_blocking(move || {
            builder.build_blocking(&lineage, base, &Channel(sender), &stop)
        });
        while let Some(event) = events.recv().await {
            progress.event(event);
        }
        work.await.map_err(|_| BuildError::Defect)?
    }

    /// [`Builder::build`] on this thread, until `stop` is set.
    pub fn build_blocking(
        &self,
        lineage: &Lineage,
        base: Image,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Built, BuildError> {
        let built = self.build_layers(lineage, base, progress, stop);
        // Layers of a build that failed are as good.
        self.store.sync_later(&self.exe);
        built
    }

    fn build_layers(
        &self,
        lineage: &Lineage,
        base: Image,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Built, BuildError> {
        let members = crate::members(lineage)?;
        for (package, member) in lineage.packages.iter().zip(&members) {
            for left_out in &member.left_out {
                progress.event(Event::Warning(format!("{}: {left_out}", package.name)));
            }
        }
        let renewals = records::renewals(&self.home, self.no_cache)?;
        let plan = crate::plan(&members, &base, &renewals);
        let mut build = layer::Build {
            workshop: Workshop::new(self, progress, stop),
            lineage,
            layers: base.layers.clone(),
            is_foreign: is_foreign(lineage, &base),
        };
        let mut history = base.config.history.clone();
        let mut steps = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            let (outcome, has_effect) = build.step(step)?;
            if has_effect {
                history.push(step.title.clone());
            }
            let (title, template) = (step.title.clone(), step.template.clone());
            steps.push(StepOutcome { title, template, outcome });
        }
        let mut config = plan.config;
        config.history = history;
        let image = records::image(&self.store, build.layers, config, &base)?;
        if renewals.salt.is_some() {
            records::renew(&self.home, &members, &base, &plan.steps)?;
        }
        Ok(Built { image, effective: plan.effective, steps })
    }
}

/// Whether an image is anybody's: not made from a distribution's archive, nor one of the official ones, which
/// have no registry and no owner in their names.
fn is_foreign(lineage: &Lineage, base: &Image) -> bool {
    if let BaseImage::Stored { .. } | BaseImage::Vendored { .. } = lineage.base {
        return true;
    }
    match &base.origin {
        Origin::Archive { .. } => false,
        Origin::Registry { name, .. } => name.contains('/'),
    }
}

/// Hands events to the thread that has the caller's [`Progress`].
pub(crate) struct Channel(pub(crate) tokio::sync::mpsc::UnboundedSender<Event>);

impl Progress for Channel {
    fn event(&self, event: Event) {
        // Nobody listens any more once the build has been stopped.
        let _ = self.0.send(event);
    }
}

pub(crate) struct StopOnDrop(pub(crate) Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
