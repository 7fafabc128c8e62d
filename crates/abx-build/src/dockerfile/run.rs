//! `RUN`: a process over the layers so far, its writes becoming the layer.

mod laid;
mod mounts;
mod stubs;

use std::path::PathBuf;
use std::time::SystemTime;

use abx_core::progress::Task;
use abx_dockerfile::{Network, Run, Script};
use abx_image::StagedLayer;
use abx_isolate::{
    Extras, Ids, IsolateError, Launch, Limits, Network as Reach, Process, Root, RuntimeFile, Upper,
};

use super::metadata;
use super::refusal::Refusal;
use super::stage::{Stage, Step};
use super::users::{self, Identity};
use crate::bytecode;
use crate::canvas::{Canvas, Owner};
use crate::env::{self, Env};
use crate::error::{BuildError, FailedStep, Failure};
use crate::key::Hasher;
use crate::log::Log;
use crate::network::RUN;
use crate::process::spawn::{self, End};
use laid::Laid;
use mounts::Mounts;
use stubs::Stubs;

/// The version of the way commands are run: raised with every change that alters results.
const VERSION: u64 = 2;

/// A `RUN` with everything looked up.
struct Plan {
    argv: Vec<String>,
    /// A here-document to run: its name and content.
    script: Option<(String, String)>,
    env: Env,
    workdir: String,
    user: String,
    identity: Identity,
    has_network: bool,
    mounts: Mounts,
}

/// Adds the layer of a `RUN`.
pub(super) fn run(stage: &mut Stage<'_, '_>, step: Step<'_>, run: &Run) -> Result<(), BuildError> {
    let plan = plan(stage, run).map_err(stage.refuse(step))?;
    let key = plan.hash(stage.hasher("RUN", VERSION)).layer();
    let made_by = super::history::run(&arguments(stage), &plan.argv);
    let name = format!("build-{}", &key.0[..16]);
    stage.layer(step, key, made_by, |stage, task| Runner { stage, step, plan: &plan, task }.run(&name))
}

fn plan(stage: &Stage<'_, '_>, run: &Run) -> Result<Plan, Refusal> {
    let state = &stage.state;
    let (argv, script) = match &run.script {
        Script::Command(command) => (metadata::words(state, command), None),
        Script::File { name, content } => {
            let name = name.rsplit('/').next().unwrap_or(name);
            let path = format!("{RUN}/{name}");
            (metadata::shell_with(state, &path), Some((path, content.clone())))
        }
    };
    let mut env: Env = Vec::new();
    for (name, value) in state.scope.environment() {
        env::set(&mut env, name, value);
    }
    if env::get(&env, "PATH").is_none() {
        env::set(&mut env, "PATH", env::DEFAULT_PATH);
    }
    let user = state.config.user.clone();
    let identity = users::identity(&stage.view(), &user)?;
    let has_network = run.network == Network::Default;
    let (workdir, mounts) = (stage.workdir(), Mounts::of(stage, run)?);
    Ok(Plan { argv, script, env, workdir, user, identity, has_network, mounts })
}

/// The arguments in force, for the history.
fn arguments(stage: &Stage<'_, '_>) -> Vec<(String, String)> {
    let mut known: Vec<(String, String)> = Vec::new();
    for name in &stage.state.arguments {
        let value = stage.state.scope.environment().find(|(known, _)| known == name);
        env::set(&mut known, name, value.map_or("", |(_, value)| value));
    }
    known
}

impl Plan {
    fn hash(&self, hasher: Hasher) -> Hasher {
        let (path, content) = self.script.clone().unwrap_or_default();
        let hasher = hasher
            .list(self.argv.iter())
            .field(path)
            .field(content)
            .env(&self.env)
            .field(&self.workdir)
            .field(&self.user)
            .number(self.has_network.into());
        self.mounts.hash(hasher)
    }
}

/// A `RUN` at work.
struct Runner<'r, 'p, 'a> {
    stage: &'r Stage<'p, 'a>,
    step: Step<'r>,
    plan: &'r Plan,
    task: &'r Task<'r>,
}

impl Runner<'_, '_, '_> {
    fn run(&self, name: &str) -> Result<StagedLayer, BuildError> {
        let project = self.stage.project;
        let builder = project.workshop.builder;
        let logs = builder.home.logs();
        let mut log =
            Log::create(&logs, name, &project.redactor).map_err(BuildError::state("write", logs))?;
        let staged = builder.store.begin_layer()?;
        let view = self.stage.view();
        let canvas = Canvas::new(&view, &staged.fs());
        if !view.exists(&self.plan.workdir).map_err(unreadable(&self.plan.workdir))? {
            canvas
                .directories(self.plan.workdir.as_ref(), Owner::ROOT)
                .map_err(BuildError::state("make", &self.plan.workdir))?;
        }
        // Held until the process has ended: its addresses follow from it.
        let slot = if self.plan.has_network { spawn::slot(builder)? } else { None };
        let network = spawn::network(slot.as_ref());
        let laid = Laid::out(self.stage, &self.plan.mounts, &self.stage.refuse(self.step))?;
        let mut launch = self.launch(spawn::name(slot.as_ref()), network, &staged, &laid)?;
        make_targets(&canvas, &laid).map_err(BuildError::state("make", staged.fs()))?;
        let nothing = self.nothing(&mut launch)?;
        let stubs = Stubs::of(&launch, &view).map_err(unreadable("/"))?;
        let task = self.task;
        let path = log.path().to_owned();
        let failed = || BuildError::state("write", path.clone());
        let start = SystemTime::now();
        let end = spawn::run(&project.workshop, &launch, &mut |bytes| {
            log.write(bytes, &mut |line| task.output(line)).map_err(failed())
        });
        log.finish(&mut |line| task.output(line)).map_err(failed())?;
        drop((nothing, laid));
        self.judge(end?, &log)?;
        let settled = stubs.remove(&staged.fs(), &view).and_then(|()| bytecode::settle(&staged.fs(), start));
        settled.map_err(BuildError::state("write", staged.fs()))?;
        Ok(staged)
    }

    fn launch(
        &self,
        name: String,
        network: Reach,
        staged: &StagedLayer,
        laid: &Laid,
    ) -> Result<Launch, BuildError> {
        let builder = self.stage.project.workshop.builder;
        let mut files = spawn::host_files(&network);
        let sources = crate::apt::sources_of_host(&self.stage.view(), &builder.host);
        files.extend(sources.map_err(unreadable("/etc/apt"))?.files);
        files.extend(self.plan.script.iter().map(|(path, content)| RuntimeFile {
            path: path.into(),
            content: content.clone(),
            mode: 0o755,
        }));
        // A program that replaces the system's bundle needs it to be a plain file.
        let over_system = !self.plan.argv.iter().any(|word| word.contains("ca-certificates"));
        let mut binds = crate::network::bundle_binds(&builder.host, over_system);
        let mut extras = Extras { fleeting: Some(RUN.into()), ..laid.extras.clone() };
        extras.memory.iter_mut().for_each(|memory| memory.after += binds.len());
        binds.extend(laid.binds.iter().cloned());
        Ok(Launch {
            name,
            hostname: "build".to_owned(),
            root: Root {
                layers: self.stage.view().layers().to_vec(),
                upper: Upper::Dir { upper: staged.fs(), work: staged.work(), volatile: true },
            },
            ids: Ids::Identity,
            binds,
            files,
            extras,
            limits: Limits { cpu: None, memory: builder.limits.memory, pids: builder.limits.pids },
            network,
            process: self.process(laid),
        })
    }

    fn process(&self, laid: &Laid) -> Process {
        let (plan, project) = (self.plan, self.stage.project);
        let mut environment = plan.env.clone();
        let proxies = project.inputs.proxies();
        for (name, value) in proxies.chain(laid.env.iter().map(|(name, value)| (&**name, &**value))) {
            env::set(&mut environment, name, value);
        }
        if env::get(&environment, "HOME").is_none() {
            env::set(&mut environment, "HOME", &*plan.identity.home);
        }
        crate::network::add_variables(&mut environment, &project.workshop.builder.host);
        Process {
            argv: plan.argv.clone(),
            program: None,
            env: environment,
            cwd: PathBuf::from(&plan.workdir),
            uid: plan.identity.owner.uid,
            gid: plan.identity.owner.gid,
            groups: plan.identity.groups.clone(),
            is_init: false,
            no_new_privs: false,
            fds: Vec::new(),
        }
    }

    /// A root needs one layer at least: in `scratch` an empty directory.
    fn nothing(&self, launch: &mut Launch) -> Result<Option<StagedLayer>, BuildError> {
        if !launch.root.layers.is_empty() {
            return Ok(None);
        }
        let empty = self.stage.project.workshop.builder.store.begin_layer()?;
        launch.root.layers.push(empty.fs());
        Ok(Some(empty))
    }

    fn judge(&self, end: Result<End, IsolateError>, log: &Log<'_>) -> Result<(), BuildError> {
        let mut failed = self.stage.failed(self.step);
        failed.command = self.command();
        failed.tail = log.tail();
        failed.log = Some(log.path().to_owned());
        let step = |failed: FailedStep, failure| Err(BuildError::Step { step: Box::new(failed), failure });
        let failure = match end {
            Ok(End::Exited(0)) => return Ok(()),
            Ok(End::Exited(status)) => Failure::Status(status.into()),
            Ok(End::Signaled(signal)) => Failure::Signal(signal),
            Ok(End::TimedOut) => Failure::Timeout(self.stage.project.workshop.builder.limits.timeout),
            Ok(End::OutOfMemory(limit)) => Failure::Memory(Some(limit)),
            Err(IsolateError::ProgramNotFound { program }) => {
                failed.tail.push(format!("{program}: not found in the image"));
                Failure::Status(127)
            }
            Err(IsolateError::ProgramNotExecutable { program, .. }) => {
                failed.tail.push(format!("{program}: cannot be executed"));
                Failure::Status(126)
            }
            Err(source) => return Err(BuildError::Launch { step: Box::new(failed), source }),
        };
        let is_full = matches!(failure, Failure::Status(_) | Failure::Signal(_))
            && log.lines().any(|line| line.contains("No space left on device"));
        step(failed, if is_full { Failure::DiskFull } else { failure })
    }

    /// What was run, as a person would write it.
    fn command(&self) -> String {
        match (&self.plan.script, &self.plan.argv[..]) {
            (Some((_, content)), _) => content.clone(),
            (None, [_, option, command]) if option == "-c" => command.clone(),
            (None, argv) => argv.join(" "),
        }
    }
}

/// Makes what mounts are laid over and the layers below lack. The launch makes the other places itself.
fn make_targets(canvas: &Canvas, laid: &Laid) -> std::io::Result<()> {
    for (index, bind) in laid.binds.iter().enumerate() {
        if laid.is_on_mount(index) || canvas.view().exists(&bind.target)? {
            continue;
        }
        if bind.source.is_dir() {
            canvas.directory(&bind.target, 0o755, Owner::ROOT)?;
        } else {
            canvas.file(&bind.target, b"", 0o644, Owner::ROOT)?;
        }
    }
    Ok(())
}

fn unreadable(path: &str) -> impl FnOnce(std::io::Error) -> BuildError + use<> {
    BuildError::state("read", PathBuf::from(path))
}
