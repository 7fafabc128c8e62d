//! One context: a directory, a program, and the kernel once it runs.

use std::cell::Cell;
use std::path::PathBuf;

use abx_protocol::code::{ContextInfo, ContextState};
use tokio::sync::{Mutex, Notify};

use crate::kernel::{Kernel, Program};

/// Cells of one context run one after the other: whoever holds the slot runs one.
pub(crate) struct Context {
    pub(crate) id: String,
    /// Under its canonical name.
    pub(crate) language: String,
    pub(crate) directory: PathBuf,
    pub(crate) program: Program,
    pub(crate) state: Cell<ContextState>,
    pub(crate) slot: Mutex<Slot>,
    /// Raised by every restart: a cell that began before is to be given up.
    generation: Cell<u64>,
    restarted: Notify,
    /// It is removed: cells that wait for the slot are not to be run.
    removed: Cell<bool>,
}

/// The kernel and what became of the one before.
#[derive(Default)]
pub(crate) struct Slot {
    pub(crate) kernel: Option<Kernel>,
    /// Why the last kernel ended, until somebody has been told.
    pub(crate) lost: Option<String>,
}

impl Context {
    pub(crate) fn new(id: String, language: String, directory: PathBuf, program: Program) -> Self {
        Self {
            id,
            language,
            directory,
            program,
            state: Cell::default(),
            slot: Mutex::default(),
            generation: Cell::default(),
            restarted: Notify::new(),
            removed: Cell::new(false),
        }
    }

    pub(crate) fn info(&self) -> ContextInfo {
        ContextInfo {
            id: self.id.clone(),
            language: self.language.clone(),
            cwd: self.directory.to_string_lossy().into_owned(),
            kernel: self.program.name().to_owned(),
            state: self.state.get(),
        }
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.removed.get()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.get()
    }

    /// Resolves when it has been restarted since that generation.
    pub(crate) async fn aborted(&self, since: u64) {
        loop {
            let restarted = self.restarted.notified();
            if self.generation.get() != since {
                return;
            }
            restarted.await;
        }
    }

    /// Ends its kernel, whatever that is at. The next cell starts a new one.
    pub(crate) async fn restart(&self) {
        self.generation.set(self.generation.get() + 1);
        self.restarted.notify_waiters();
        let mut slot = self.slot.lock().await;
        *slot = Slot::default();
        self.state.set(ContextState::Fresh);
    }

    /// Ends its kernel for good.
    pub(crate) async fn remove(&self) {
        self.removed.set(true);
        self.restart().await;
    }
}
