//! What runs cells: a Jupyter kernel, or the small worker of ours.
//!
//! Both are a process of the sandbox's user that dies with us, take one cell at a time, and tell what happens as
//! [`Happening`]s. [`spec`] finds kernels; [`jupyter`] speaks to one over [`zmtp`] in the words of [`message`].

mod connection;
mod jupyter;
mod message;
mod pipe;
mod process;
pub(crate) mod spec;
mod tail;
mod worker;
mod zmtp;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_protocol::code::CodeError;
use serde_json::{Map, Value};
use thiserror::Error;

use self::jupyter::Jupyter;
pub(crate) use self::message::random_hex;
use self::spec::KernelSpec;
use self::worker::Worker;

/// What is said to every Python of ours before the first cell.
pub(crate) const HELPER: &str = concat!(
    include_str!("../python/helper.py"),
    include_str!("../python/install.py"),
    include_str!("../python/forms.py"),
);

/// A kernel that takes longer to be ready is given up.
const START_TIMEOUT: Duration = Duration::from_secs(90);

/// Which program runs the cells of a context.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    Jupyter(KernelSpec),
    /// Plain Python, whose path is given.
    Worker(PathBuf),
}

impl Program {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Jupyter(spec) => &spec.name,
            Self::Worker(_) => "worker",
        }
    }
}

/// Where and with what a kernel starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) env: &'a BTreeMap<String, String>,
}

/// Why there is no kernel.
#[derive(Debug, Error)]
pub(crate) enum KernelError {
    #[error("the kernel `{name}` cannot be started: {source}")]
    Spawn { name: String, source: io::Error },
    #[error("the kernel `{name}` ended at once: {end}{}", shown(output))]
    Ended { name: String, end: String, output: String },
    #[error("the kernel `{name}` was not ready after {} s{}", START_TIMEOUT.as_secs(), shown(output))]
    Timeout { name: String, output: String },
}

fn shown(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!("\n{}", output.trim_end()) }
}

/// Something a kernel tells of the cell it runs.
#[derive(Debug)]
pub(crate) enum Happening {
    /// How many cells it has run.
    Count(u64),
    Stdout(String),
    Stderr(String),
    /// A value in all its forms, by MIME type.
    Shown {
        main: bool,
        forms: Map<String, Value>,
    },
    Raised(CodeError),
    /// The cell is done: nothing more comes of it.
    Done,
    /// The kernel is no more, and how it ended.
    Ended(String),
}

/// A running kernel. Dropping it kills its whole process group.
pub(crate) enum Kernel {
    Jupyter(Box<Jupyter>),
    Worker(Box<Worker>),
}

impl Kernel {
    /// Starts one and waits until it takes cells.
    pub(crate) async fn start(
        program: &Program,
        surroundings: Surroundings<'_>,
    ) -> Result<Self, KernelError> {
        match program {
            Program::Jupyter(spec) => Ok(Self::Jupyter(Box::new(Jupyter::start(spec, surroundings).await?))),
            Program::Worker(python) => Ok(Self::Worker(Box::new(Worker::start(python, surroundings).await?))),
        }
    }

    /// Hands a cell over. A hidden one is not counted. An error shows as [`Happening::Ended`] next.
    pub(crate) async fn submit(&mut self, code: &str, hidden: bool) {
        match self {
            Self::Jupyter(kernel) => kernel.submit(code, hidden).await,
            Self::Worker(worker) => worker.submit(code, hidden).await,
        }
    }

    /// The next that happens to the cell under way. May be dropped and called again without losing anything.
    pub(crate) async fn next(&mut self) -> Happening {
        match self {
            Self::Jupyter(kernel) => kernel.next().await,
            Self::Worker(worker) => worker.next().await,
        }
    }

    /// Asks the cell under way to stop.
    pub(crate) async fn interrupt(&mut self) {
        match self {
            Self::Jupyter(kernel) => kernel.interrupt().await,
            Self::Worker(worker) => worker.interrupt(),
        }
    }

    /// How it ended, where it has.
    pub(crate) fn ended(&mut self) -> Option<String> {
        match self {
            Self::Jupyter(kernel) => kernel.process.ended(),
            Self::Worker(worker) => worker.process.ended(),
        }
    }
}
