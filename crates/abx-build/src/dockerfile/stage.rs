//! One stage: its instructions in order, each with effect a layer.

use abx_core::progress::{Task, Unit, start};
use abx_dockerfile::{Action, Instruction, Origin, Scope, Source, parse_trigger};
use abx_image::{Image, ImageConfig, LayerId, StagedLayer};

use super::history;
use super::metadata;
use super::project::Project;
use super::refusal::Refusal;
use super::request::Own;
use crate::builder::{Outcome, StepOutcome};
use crate::env;
use crate::error::{BuildError, FailedStep};
use crate::key::Hasher;
use crate::view::View;

/// A stage so far.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Bottom first, those without effect left out.
    pub(super) layers: Vec<LayerId>,
    /// The key of the last instruction with effect, or of the base.
    pub(super) parent: LayerId,
    pub(super) config: ImageConfig,
    pub(super) own: Own,
    pub(super) scope: Scope,
    /// The arguments declared so far, for the history.
    pub(super) arguments: Vec<String>,
    /// Whether this stage has said `CMD`.
    pub(super) has_cmd: bool,
    /// The image at the bottom.
    pub(super) base: Image,
    pub(super) steps: Vec<StepOutcome>,
    /// In a build without cache: the key of the first layer above the base, and what it has been made as.
    pub(super) renewed: Option<(LayerId, LayerId)>,
}

/// A stage at work.
pub(super) struct Stage<'p, 'a> {
    pub(super) project: &'p Project<'a>,
    number: usize,
    pub(super) state: State,
}

/// One instruction in its stage, expanded.
#[derive(Clone, Copy)]
pub(super) struct Step<'i> {
    pub(super) instruction: &'i Instruction,
    /// What it was parsed from.
    pub(super) source: &'i Source,
}

/// Builds a stage; those it waits for are finished.
pub(super) fn build(project: &Project<'_>, number: usize) -> Result<State, BuildError> {
    let file = &project.request.file;
    let mut stage = Stage::begin(project, number)?;
    let inherited = std::mem::take(&mut stage.state.config.triggers);
    for trigger in &inherited {
        let name = format!("a trigger of {}", file.stages[number].from.image.text);
        let (instruction, source) = parse_trigger(trigger, &name).map_err(Box::new)?;
        stage.take(&instruction, &source)?;
    }
    for instruction in &file.stages[number].instructions {
        stage.take(instruction, &file.source)?;
    }
    Ok(stage.state)
}

impl<'p, 'a> Stage<'p, 'a> {
    fn begin(project: &'p Project<'a>, number: usize) -> Result<Self, BuildError> {
        let link = &project.graph.links[number];
        let state = match link.base {
            Origin::Stage(below) => {
                let below = project.stage(below).ok_or(BuildError::Defect)?;
                let steps = Vec::new();
                State { steps, renewed: None, has_cmd: false, arguments: Vec::new(), ..below.clone() }
            }
            _ => match project.base(link) {
                Ok(base) => State::of_image(project, base),
                Err(refusal) => return Err(Self::refuse_from(project, number, refusal)),
            },
        };
        Ok(Self { project, number, state })
    }

    fn refuse_from(project: &Project<'_>, number: usize, refusal: Refusal) -> BuildError {
        let (file, from) = (&project.request.file, &project.request.file.stages[number].from);
        let step = FailedStep {
            title: format!("FROM {}", from.image.text),
            template: project.request.name.clone(),
            snippet: Some(file.source.snippet(from.span)),
            ..FailedStep::default()
        };
        BuildError::Instruction { step: Box::new(step), refusal: Box::new(refusal) }
    }

    /// Does one instruction.
    fn take(&mut self, written: &Instruction, source: &Source) -> Result<(), BuildError> {
        self.project.workshop.check_stop()?;
        let expanded = self.state.scope.expand(written, source).map_err(Box::new)?;
        let step = Step { instruction: &expanded, source };
        match &expanded.action {
            Action::Run(run) => super::run::run(self, step, run),
            Action::Copy(copy) => super::copy::copy(self, step, copy),
            Action::Add(add) => super::copy::add(self, step, add),
            Action::Workdir(path) => super::workdir::workdir(self, step, &path.text),
            action => {
                let mut line = metadata::apply(&mut self.state, action);
                if let (Action::Arg(written), Action::Arg(expanded)) = (&written.action, action) {
                    line = Some(history::arguments(written, &self.project.inputs.arguments, expanded));
                }
                line.into_iter().for_each(|line| self.note(line));
                Ok(())
            }
        }
    }

    /// Adds a line to the history for what made no layer.
    pub(super) fn note(&mut self, line: String) {
        self.state.config.notes.push((self.state.layers.len(), line));
    }

    /// Adds the layer of an instruction, from the store or by `make`. `key` covers all it depends on, the layers
    /// below included; `made_by` goes to the history.
    pub(super) fn layer(
        &mut self,
        step: Step<'_>,
        key: LayerId,
        made_by: String,
        make: impl FnOnce(&Self, &Task<'_>) -> Result<StagedLayer, BuildError>,
    ) -> Result<(), BuildError> {
        let key = self.renewed(key);
        let title = self.title(step.instruction);
        let workshop = &self.project.workshop;
        let task =
            start(workshop.progress, format!("{}: {title}", self.project.request.name), None, Unit::Items);
        let outcome = workshop.layer(&key, &title, || make(self, &task))?;
        match workshop.has_effect(&key)? {
            true => {
                self.state.layers.push(key.clone());
                self.state.config.history.push(made_by);
            }
            false => self.note(made_by),
        }
        self.state.parent = key;
        let template = self.project.request.name.clone();
        self.state.steps.push(StepOutcome { title, template, outcome });
        task.finish(if outcome == Outcome::Cached { "cached" } else { "done" });
        Ok(())
    }

    /// The key under which a layer is looked for: without cache the first one above an image gets a key nobody had
    /// before, and so all that follow.
    fn renewed(&mut self, key: LayerId) -> LayerId {
        let renewals = &self.project.renewals;
        let is_first = self.state.parent == State::key_of(&self.state.base);
        match (&renewals.salt, renewals.known.get(&key)) {
            (Some(salt), _) if is_first => {
                let renewed = Hasher::new("renewal").field(&key.0).field(salt).layer();
                self.state.renewed = Some((key, renewed.clone()));
                renewed
            }
            (None, Some(known)) => known.clone(),
            _ => key,
        }
    }

    /// For people: `[build] RUN make`.
    pub(super) fn title(&self, instruction: &Instruction) -> String {
        let text = history::one_line(&instruction.text);
        if self.project.graph.order.len() < 2 {
            return text;
        }
        match self.project.request.file.stages[self.number].name() {
            Some(name) => format!("[{name}] {text}"),
            None => format!("[{}] {text}", self.number),
        }
    }

    /// The layers so far, seen as one.
    pub(super) fn view(&self) -> View {
        self.project.workshop.view(&self.state.layers)
    }

    /// A hasher that has what every key begins with: the layers below, the kind of instruction and the version of the
    /// way it is done.
    pub(super) fn hasher(&self, kind: &str, version: u64) -> Hasher {
        Hasher::new("dockerfile").field(&self.state.parent.0).field(kind).number(version)
    }

    /// What an error says about an instruction.
    pub(super) fn failed(&self, step: Step<'_>) -> FailedStep {
        FailedStep {
            title: self.title(step.instruction),
            template: self.project.request.name.clone(),
            snippet: Some(step.source.snippet(step.instruction.span)),
            ..FailedStep::default()
        }
    }

    /// The error for an instruction that cannot be done.
    pub(super) fn refuse(&self, step: Step<'_>) -> impl Fn(Refusal) -> BuildError + use<> {
        let failed = self.failed(step);
        move |refusal| BuildError::Instruction { step: Box::new(failed.clone()), refusal: Box::new(refusal) }
    }

    /// A path of the image as an instruction writes it, absolute; a slash at its end stays.
    pub(super) fn absolute(&self, path: &str) -> String {
        let plain = crate::copy::without_dots(&std::path::Path::new(&self.workdir()).join(path));
        let plain = plain.display().to_string();
        let is_directory = path.is_empty() || path == "." || path.ends_with('/') || path.ends_with("/.");
        if is_directory && plain != "/" { format!("{plain}/") } else { plain }
    }

    /// The working directory, `/` where nothing is said.
    pub(super) fn workdir(&self) -> String {
        let workdir = &self.state.config.workdir;
        if workdir.is_empty() { "/".to_owned() } else { workdir.clone() }
    }
}

impl State {
    fn of_image(project: &Project<'_>, base: Image) -> Self {
        let mut config = base.config.clone();
        if env::get(&config.env, "PATH").is_none() {
            env::set(&mut config.env, "PATH", env::DEFAULT_PATH);
        }
        let scope = Scope::new(&project.globals, config.env.iter().map(|(name, value)| (&**name, &**value)));
        config.architecture.clone_from(&project.request.platform.architecture);
        // The lines of layers must be as many as the layers.
        config.history.resize(base.layers.len(), String::new());
        Self {
            layers: base.layers.clone(),
            parent: Self::key_of(&base),
            config,
            own: Own::default(),
            scope,
            arguments: Vec::new(),
            has_cmd: false,
            base,
            steps: Vec::new(),
            renewed: None,
        }
    }

    fn key_of(base: &Image) -> LayerId {
        Hasher::new("base").list(base.layers.iter().map(|layer| &layer.0)).layer()
    }
}
