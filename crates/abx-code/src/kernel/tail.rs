//! The last that a kernel's process says on its own outputs: why it did not start, usually.

use std::cell::RefCell;
use std::rc::Rc;

use super::pipe::Pipe;
use super::process::Process;

/// Bytes that are kept.
const KEPT: usize = 4096;

/// Grows until the outputs are closed, and never beyond what is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Rc<RefCell<String>>);

impl Tail {
    /// Reads both outputs of the process from now on, so that they never fill up.
    pub(super) fn follow(process: &mut Process) -> std::io::Result<Self> {
        let tail = Self::default();
        let (stdout, stderr) = process.outputs()?;
        for pipe in [stdout, stderr] {
            let tail = tail.clone();
            tokio::task::spawn_local(async move {
                while let Some(text) = pipe.read().await {
                    tail.push(&text);
                }
            });
        }
        Ok(tail)
    }

    fn push(&self, text: &str) {
        let mut kept = self.0.borrow_mut();
        kept.push_str(text);
        if let Some(over) = kept.len().checked_sub(KEPT) {
            let start = (over..).find(|index| kept.is_char_boundary(*index)).unwrap_or(kept.len());
            kept.drain(..start);
        }
    }

    pub(super) fn text(&self) -> String {
        self.0.borrow().clone()
    }
}

impl Process {
    /// Its outputs, which it has once.
    pub(super) fn outputs(&mut self) -> std::io::Result<(Pipe, Pipe)> {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let (stdout, stderr) = stdout.zip(stderr).ok_or(std::io::ErrorKind::NotFound)?;
        Ok((Pipe::new(stdout.into_owned_fd()?)?, Pipe::new(stderr.into_owned_fd()?)?))
    }
}
