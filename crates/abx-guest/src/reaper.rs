//! Collects every child that ends, ours and orphans alike.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use abx_protocol::signal::Exit;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Knows which children somebody waits for.
///
/// All of it runs on one thread, and a child is registered on that thread before the reaper can run again:
/// no exit is missed, and a number is the child's for as long as [`Watched::ended`] is false.
#[derive(Default)]
pub(crate) struct Reaper {
    waiting: RefCell<HashMap<i32, Waiter>>,
}

struct Waiter {
    sender: oneshot::Sender<Exit>,
    ended: Rc<Cell<bool>>,
}

/// A child's end, once it comes.
pub(crate) struct Watched {
    pub(crate) exit: oneshot::Receiver<Exit>,
    /// True from the moment its number may be another's.
    pub(crate) ended: Rc<Cell<bool>>,
}

impl Reaper {
    /// Must be called in the same turn that started the child.
    pub(crate) fn watch(&self, pid: Pid) -> Watched {
        let (sender, exit) = oneshot::channel();
        let ended = Rc::new(Cell::new(false));
        let waiter = Waiter { sender, ended: ended.clone() };
        self.waiting.borrow_mut().insert(pid.as_raw_nonzero().get(), waiter);
        Watched { exit, ended }
    }

    /// Collects for ever.
    pub(crate) async fn run(self: Rc<Self>) -> io::Result<()> {
        let mut children = signal(SignalKind::child())?;
        loop {
            self.collect();
            children.recv().await;
        }
    }

    fn collect(&self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let Some(exit) = exit_of(status) else { continue };
            if let Some(waiter) = self.waiting.borrow_mut().remove(&pid.as_raw_nonzero().get()) {
                waiter.ended.set(true);
                // A waiter that went away no longer cares.
                let _ = waiter.sender.send(exit);
            }
        }
    }
}

fn exit_of(status: WaitStatus) -> Option<Exit> {
    if let Some(code) = status.exit_status() {
        return Some(Exit::Code(code));
    }
    let number = status.terminating_signal()?;
    Some(Exit::Signal { number, core_dumped: status.as_raw() & 0x80 != 0 })
}
