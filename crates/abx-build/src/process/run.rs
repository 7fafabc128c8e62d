//! A step's job as an isolated process over the layers below.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use abx_image::StagedLayer;
use abx_isolate::{Extras, Ids, Launch, Limits, Process, Root, Slot, Upper};

use super::Worker;
use super::spawn::{self, End};
use crate::canvas::{Canvas, Owner};
use crate::env;
use crate::error::BuildError;
use crate::job::Job;

/// Runs `job` over the layers below; its writes go to `staged`.
pub(super) fn run(worker: &mut Worker<'_>, job: &Job, staged: &StagedLayer) -> Result<End, BuildError> {
    make_directories(&job.directories)?;
    let _lock = job.lock.as_deref().map(|path| worker.build.workshop.lock_file(path)).transpose()?;
    let canvas = Canvas::new(&worker.view, &staged.fs());
    for point in &job.mount_points {
        if !worker.view.exists(point).map_err(BuildError::state("read", point))? {
            canvas.directory(point, 0o755, Owner::ROOT).map_err(BuildError::state("make", point))?;
        }
    }
    // Held until the process has ended: its addresses follow from it.
    let builder = worker.build.workshop.builder;
    let slot = spawn::slot(builder)?;
    let launch = launch(worker, job, staged, slot.as_ref());
    let (workshop, failed) = (&worker.build.workshop, worker.build.failed(worker.step, String::new()));
    let end = spawn::run(workshop, &launch, &mut |bytes| worker.take(bytes));
    worker.end_log()?;
    end?.map_err(|source| BuildError::Launch { step: Box::new(failed), source })
}

fn launch(worker: &Worker<'_>, job: &Job, staged: &StagedLayer, slot: Option<&Slot>) -> Launch {
    let builder = worker.build.workshop.builder;
    let layers = worker.build.layers.iter().map(|layer| builder.store.layer_path(layer)).collect();
    let mut binds = crate::network::bundle_binds(&builder.host, job.over_system_bundle);
    binds.extend(job.binds.iter().cloned());
    let network = spawn::network(slot);
    let mut files = spawn::host_files(&network);
    files.extend(job.files.iter().cloned());
    Launch {
        name: spawn::name(slot),
        hostname: "build".to_owned(),
        root: Root { layers, upper: Upper::Dir { upper: staged.fs(), work: staged.work(), volatile: true } },
        ids: Ids::Identity,
        binds,
        files,
        extras: Extras::default(),
        limits: Limits { cpu: None, memory: builder.limits.memory, pids: builder.limits.pids },
        network,
        process: process(worker, job),
    }
}

fn process(worker: &Worker<'_>, job: &Job) -> Process {
    let mut environment = worker.step.env.clone();
    for (name, value) in [("HOME", "/root"), ("USER", "root"), ("LOGNAME", "root")] {
        env::set(&mut environment, name, value);
    }
    for (name, value) in &job.env {
        if env::get(&environment, name).is_none() {
            env::set(&mut environment, name, value.clone());
        }
    }
    crate::network::add_variables(&mut environment, &worker.build.workshop.builder.host);
    Process {
        argv: job.argv.clone(),
        program: None,
        env: environment,
        cwd: PathBuf::from(&worker.step.workdir),
        uid: 0,
        gid: 0,
        groups: Vec::new(),
        is_init: false,
        no_new_privs: false,
        fds: Vec::new(),
    }
}

fn make_directories(directories: &[PathBuf]) -> Result<(), BuildError> {
    for directory in directories {
        let make = || {
            std::fs::create_dir_all(directory)?;
            std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755))
        };
        make().map_err(BuildError::state("make", directory))?;
    }
    Ok(())
}
