//! Collects every child that ends, ours and orphans alike.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use abx_protocol::signal::Exit;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, oneshot};

/// Knows which children somebody waits for.
///
/// All of it runs on one thread, and a child is registered on that thread before the reaper can run again:
/// no exit is missed, and a number is the child's until its [`End`] is reached.
#[derive(Default)]
pub(crate) struct Reaper {
    waiting: RefCell<HashMap<i32, Waiter>>,
}

struct Waiter {
    sender: oneshot::Sender<Exit>,
    end: Rc<End>,
}

/// A child's end, once it comes.
pub(crate) struct Watched {
    pub(crate) exit: oneshot::Receiver<Exit>,
    pub(crate) end: Rc<End>,
}

/// Whether a child has ended, from the moment its number may be another's.
#[derive(Default)]
pub(crate) struct End {
    reached: Cell<bool>,
    announced: Notify,
}

impl End {
    pub(crate) fn is_reached(&self) -> bool {
        self.reached.get()
    }

    /// Resolves when it has.
    pub(crate) async fn reached(&self) {
        let announced = self.announced.notified();
        if !self.reached.get() {
            announced.await;
        }
    }

    fn reach(&self) {
        self.reached.set(true);
        self.announced.notify_waiters();
    }
}

impl Reaper {
    /// Must be called in the same turn that started the child.
    pub(crate) fn watch(&self, pid: Pid) -> Watched {
        let (sender, exit) = oneshot::channel();
        let end = Rc::<End>::default();
        let waiter = Waiter { sender, end: end.clone() };
        self.waiting.borrow_mut().insert(pid.as_raw_nonzero().get(), waiter);
        Watched { exit, end }
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
                waiter.end.reach();
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
