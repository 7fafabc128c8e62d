//! The tests of one file.

use std::collections::BTreeMap;

use serde_json::Value;

use super::expect::Expect;
use super::range::Range;
use crate::spec::{At, Place};

/// The tests of one file, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suite {
    pub sandbox: Wishes,
    pub tests: Vec<Test>,
}

/// How the sandboxes of a file are made: what is absent is the template's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wishes {
    /// `Some(false)`: loopback only.
    pub network: Option<bool>,
    /// Whether each test has a sandbox of its own; else the tests of a file share one.
    pub is_fresh: bool,
    pub env: Vec<(String, String)>,
    /// Cores.
    pub cpu: Option<f64>,
    /// MB.
    pub memory: Option<u64>,
    /// MB.
    pub disk: Option<u64>,
}

/// One test.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// Whether it has a sandbox of its own.
    pub is_fresh: bool,
    pub check: Check,
}

/// What is looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// `run`: a command.
    Run(RunCheck),
    /// `code`: a cell.
    Code(CodeCheck),
    /// `call`: a named command.
    Call(CallCheck),
    /// `commands`: named commands that are there.
    Commands(Vec<At<String>>),
    /// `programs`: found by PATH, in these versions.
    Programs(Vec<At<ProgramWish>>),
    /// `packages`: installed, in these versions.
    Packages(Vec<At<PackageWish>>),
    /// `file`
    File(FileCheck),
    /// `port`
    Port(PortCheck),
    /// `capabilities`: all that the sandbox has.
    Capabilities(At<Vec<String>>),
    /// `health`: the word `abx info` has for it, within so many seconds.
    Health { word: At<String>, within: f64 },
    /// `resources`: keys and values of `abx info`.
    Resources(Vec<(&'static str, At<Value>)>),
    /// `image`
    Image(ImageCheck),
}

/// A command and what it must come to.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCheck {
    pub command: Command,
    pub user: Option<String>,
    pub cwd: Option<String>,
    pub env: BTreeMap<String, String>,
    pub stdin: Option<String>,
    /// Whether a login shell runs it.
    pub is_login: bool,
    /// Seconds.
    pub timeout: f64,
    /// 0 where it is absent.
    pub status: Option<At<u8>>,
    pub stdout: Vec<At<Expect>>,
    pub stderr: Vec<At<Expect>>,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A shell's script.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// A cell and what it must come to.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeCheck {
    pub code: String,
    pub language: Option<String>,
    /// Seconds.
    pub timeout: f64,
    pub stdout: Vec<At<Expect>>,
    pub stderr: Vec<At<Expect>>,
    /// What the main result is as text.
    pub result: Vec<At<Expect>>,
    /// Forms that some result has: `png`, `html`, `chart`, or a MIME type.
    pub formats: Vec<At<String>>,
    /// The name of the error it must end with.
    pub error: Option<At<String>>,
}

/// A call of a named command and what it must come to.
#[derive(Clone, Debug, PartialEq)]
pub struct CallCheck {
    pub name: String,
    pub args: serde_json::Map<String, Value>,
    /// Seconds.
    pub timeout: f64,
    /// The value it must return.
    pub result: Option<At<Value>>,
    /// What its failure must say.
    pub error: Vec<At<Expect>>,
}

/// A program and what `--version` must say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramWish {
    pub name: String,
    pub range: Option<Range>,
}

/// A package and its version.
#[derive(Clone, Debug, PartialEq)]
pub struct PackageWish {
    pub manager: Manager,
    pub name: String,
    pub range: Option<Range>,
}

/// Who has installed a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Manager {
    Apt,
    Pip,
    Npm,
}

/// A file and how it must be.
#[derive(Clone, Debug, PartialEq)]
pub struct FileCheck {
    pub path: At<String>,
    /// Whether it is to be there.
    pub exists: bool,
    pub kind: Option<At<FileKind>>,
    /// Permission bits.
    pub mode: Option<At<u32>>,
    pub owner: Option<At<String>>,
    pub group: Option<At<String>>,
    pub content: Vec<At<Expect>>,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
}

/// A port and what must listen there.
#[derive(Clone, Debug, PartialEq)]
pub struct PortCheck {
    pub port: At<u16>,
    /// Seconds.
    pub within: f64,
    pub http: Option<HttpWish>,
}

/// A request and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpWish {
    pub method: String,
    pub path: String,
    /// Any of 200 to 299 where it is absent.
    pub status: Option<At<u16>>,
    pub body: Vec<At<Expect>>,
}

/// What must hold of the image itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageCheck {
    /// The most it may take on disk, in MB of 1,000,000 bytes.
    pub max_size: Option<At<u64>>,
    /// Whether downloads and lists of package tools may be in it.
    pub caches: Option<At<bool>>,
}

impl Check {
    /// The key it is written with.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Code(_) => "code",
            Self::Call(_) => "call",
            Self::Commands(_) => "commands",
            Self::Programs(_) => "programs",
            Self::Packages(_) => "packages",
            Self::File(_) => "file",
            Self::Port(_) => "port",
            Self::Capabilities(_) => "capabilities",
            Self::Health { .. } => "health",
            Self::Resources(_) => "resources",
            Self::Image(_) => "image",
        }
    }
}

impl Manager {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apt => "apt",
            Self::Pip => "pip",
            Self::Npm => "npm",
        }
    }
}

impl FileKind {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
        }
    }
}
