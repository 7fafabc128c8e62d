//! What a Dockerfile says, typed. Values that variables may stand in are [`Word`]s: as written after
//! [`parse`](crate::parse()), as meant after [`Scope::expand`](crate::Scope::expand).

use std::time::Duration;

use crate::source::Span;
use crate::syntax::Word;

/// An instruction of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// As one line, as it is written; here-documents left out. For progress and history.
    pub text: String,
    pub span: Span,
    pub action: Action,
}

impl Instruction {
    /// The names of the stages and images it takes files from, as written.
    pub fn origins(&self) -> Vec<&Word> {
        match &self.action {
            Action::Copy(copy) => copy.from.iter().collect(),
            Action::Run(run) => run.mounts.iter().filter_map(|mount| mount.kind.origin()).collect(),
            _ => Vec::new(),
        }
    }
}

/// What an instruction asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Add(Add),
    Arg(Vec<Argument>),
    /// `None` for `CMD []`, which takes back an inherited command.
    Cmd(Option<Command>),
    Copy(Copy),
    /// `None` for `ENTRYPOINT []`.
    Entrypoint(Option<Command>),
    Env(Vec<Variable>),
    /// Before expansion as written, afterwards one `80/tcp` a port.
    Expose(Vec<Word>),
    Healthcheck(Healthcheck),
    Label(Vec<Variable>),
    /// The author, kept in old images.
    Maintainer(String),
    Onbuild(Onbuild),
    Run(Run),
    /// What runs commands in shell form from here on.
    Shell(Vec<String>),
    Stopsignal(Word),
    /// Root where its variables expand to nothing.
    User(Word),
    Volume(Vec<Word>),
    /// Relative to the one before; the same where its variables expand to nothing.
    Workdir(Word),
}

/// `FROM`: how a stage begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct From {
    /// An image, an earlier stage or `scratch`; may hold variables.
    pub image: Word,
    pub platform: Option<Word>,
    /// In lower case.
    pub name: Option<Word>,
    pub span: Span,
}

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A program and its arguments.
    Exec(Vec<String>),
    /// A line for the shell of `SHELL`. Here-documents are within.
    Shell(String),
}

/// `RUN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub script: Script,
    pub mounts: Vec<Mount>,
    pub network: Network,
}

/// What `RUN` runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Script {
    Command(Command),
    /// A here-document with a `#!` line: a file of that name, made executable somewhere outside of the image
    /// and given to the shell of `SHELL` as its command line.
    File {
        name: String,
        content: String,
    },
}

/// The network of a `RUN` step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    Default,
    None,
}

/// `--mount` of a `RUN` step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The whole flag.
    pub span: Span,
    pub kind: MountKind,
}

/// The kinds of mounts. Targets may be relative to the working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MountKind {
    /// Files of the context, or of `from`.
    Bind {
        target: Word,
        source: Word,
        from: Option<Word>,
        read_write: bool,
    },
    /// A directory that outlives the build. `id` is the target where none is given.
    Cache {
        target: Word,
        id: Option<Word>,
        sharing: Sharing,
        /// What an empty cache begins with.
        from: Option<Word>,
        source: Word,
        read_only: bool,
        mode: u32,
        uid: u32,
        gid: u32,
    },
    Tmpfs {
        target: Word,
        size: Option<u64>,
    },
    /// A secret of the caller, as a file, as a variable, or both; where neither is named, as the file
    /// `/run/secrets/ID`.
    Secret {
        id: Word,
        target: Option<Word>,
        env: Option<Word>,
        required: bool,
        mode: u32,
        uid: u32,
        gid: u32,
    },
}

impl MountKind {
    /// The stage or image whose files are mounted.
    fn origin(&self) -> Option<&Word> {
        match self {
            Self::Bind { from, .. } | Self::Cache { from, .. } => from.as_ref(),
            Self::Tmpfs { .. } | Self::Secret { .. } => None,
        }
    }
}

/// Who may use a cache at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Everybody.
    #[default]
    Shared,
    /// One; others get a new one.
    Private,
    /// One; others wait.
    Locked,
}

/// `COPY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    pub files: Files,
    /// A stage's name or number, or an image; the context where absent. Holds no variables.
    pub from: Option<Word>,
    /// Keep the folders that lead to each source.
    pub parents: bool,
}

/// `ADD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Add {
    pub files: Files,
    /// `sha256:…` of what a URL must yield.
    pub checksum: Option<Word>,
    /// Whether archives are unpacked; absent: local ones are, those of a URL are not.
    pub unpack: Option<bool>,
}

/// What `COPY` and `ADD` share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// In order; with `inline` at least one.
    pub sources: Vec<Word>,
    /// Files written in the Dockerfile itself.
    pub inline: Vec<Inline>,
    pub dest: Word,
    pub chown: Option<Word>,
    pub chmod: Option<Word>,
    /// Patterns of files to leave out, as of an ignore file.
    pub exclude: Vec<Word>,
    /// The layer does not depend on what is below it.
    pub link: bool,
}

/// A file from a here-document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inline {
    pub name: String,
    pub content: Word,
    /// Variables in it are still to be expanded.
    pub expand: bool,
}

/// A variable or label with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: Word,
    pub value: Word,
}

/// A build argument, with its default where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    pub name: Word,
    pub value: Option<Word>,
}

/// `HEALTHCHECK`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Healthcheck {
    /// Takes back an inherited one.
    None,
    Check(Check),
}

/// A command that tells whether the container is well. Absent times are the runtime's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub command: Command,
    pub interval: Option<Duration>,
    pub timeout: Option<Duration>,
    pub start_period: Option<Duration>,
    pub start_interval: Option<Duration>,
    pub retries: Option<u32>,
}

/// `ONBUILD`: an instruction for images that build on this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Onbuild {
    /// As an image's configuration keeps it, here-documents included; [`parse_trigger`](crate::parse_trigger)
    /// reads it again.
    pub text: String,
    pub instruction: Box<Instruction>,
}
