//! The thread that serves, in the hands of the owner.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, getrlimit, setrlimit};

use super::serve::Server;
use super::{Activity, Listener, PortForward, Relay, listen_for};
use crate::error::{IsolateError, system};
use crate::guard::Guard;

/// What is passed while a sandbox runs. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) activity: Arc<Activity>,
    pub(crate) guard: Option<Arc<Guard>>,
    orders: Arc<Orders>,
    ports: Mutex<Vec<PortForward>>,
    thread: Mutex<Thread>,
}

/// A thread costs memory, so it is there only once there is something to serve.
#[derive(Debug)]
enum Thread {
    Ready(Box<Server>),
    Runs(JoinHandle<()>),
    /// It was given up.
    Gone,
}

/// What the thread is told, and the event that wakes it for that.
#[derive(Debug)]
pub(super) struct Orders {
    pub(super) event: OwnedFd,
    queue: Mutex<Vec<Order>>,
}

#[derive(Debug)]
pub(super) enum Order {
    Serve(Listener),
    Stop,
}

impl Orders {
    fn give(&self, order: Order) {
        lock(&self.queue).push(order);
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    /// All that were given since the last call.
    pub(super) fn take(&self) -> Vec<Order> {
        let _ = rustix::io::read(&self.event, &mut [0u8; 8]);
        std::mem::take(&mut *lock(&self.queue))
    }
}

impl Serving {
    pub(super) fn start(relay: Relay) -> Result<Self, IsolateError> {
        let is_wanted = !relay.listeners.is_empty() || relay.dns.is_some() || relay.guard.is_some();
        let activity = Arc::new(Activity::default());
        let event =
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(system("make an event"))?;
        let orders = Arc::new(Orders { event, queue: Mutex::default() });
        let ports = Mutex::new(relay.ports());
        let guard = relay.guard.clone();
        let server =
            Server::new(relay, orders.clone(), activity.clone()).map_err(system("serve the network"))?;
        let serving =
            Self { activity, guard, orders, ports, thread: Mutex::new(Thread::Ready(Box::new(server))) };
        if is_wanted {
            serving.run()?;
        }
        Ok(serving)
    }

    /// The port forwards, with the ports they really have.
    pub(crate) fn ports(&self) -> Vec<PortForward> {
        lock(&self.ports).clone()
    }

    /// Forwards one more port, and tells where.
    pub(crate) fn forward(&self, port: PortForward) -> Result<PortForward, IsolateError> {
        let listeners = listen_for(port)?;
        let first = listeners.first().map(|listener| listener.socket.local_addr());
        let listen = first.transpose().map_err(system("look at a socket"))?;
        let bound = PortForward { listen: listen.unwrap_or(port.listen), ..port };
        listeners.into_iter().for_each(|listener| self.orders.give(Order::Serve(listener)));
        self.run()?;
        lock(&self.ports).push(bound);
        Ok(bound)
    }

    /// Starts the thread where it does not run yet.
    fn run(&self) -> Result<(), IsolateError> {
        let mut thread = lock(&self.thread);
        *thread = match std::mem::replace(&mut *thread, Thread::Gone) {
            Thread::Ready(mut server) => {
                raise_descriptor_limit();
                let builder = std::thread::Builder::new().name("abx-relay".to_owned()).stack_size(128 * 1024);
                Thread::Runs(builder.spawn(move || server.run()).map_err(system("start a thread"))?)
            }
            other => other,
        };
        Ok(())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.orders.give(Order::Stop);
        if let Thread::Runs(thread) = std::mem::replace(&mut *lock(&self.thread), Thread::Gone) {
            let _ = thread.join();
        }
    }
}

/// What a panic of another thread left is as good as ever: every change is one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Each connection takes two descriptors, and the usual soft limit is low for the sake of programs that use
/// `select`.
fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
