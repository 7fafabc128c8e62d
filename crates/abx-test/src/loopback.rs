//! The part that every server on the loopback shares: a listener, a thread for each connection, and its end.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A running server over the state `S`; dropping it stops it.
#[derive(Debug)]
pub(crate) struct Loopback<S> {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<S>>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Answers one connection.
pub(crate) type Serve<S> = fn(TcpStream, SocketAddr, &Mutex<S>);

impl<S: Default + Send + 'static> Loopback<S> {
    /// Starts one on a free port of 127.0.0.1.
    pub(crate) fn start(serve: Serve<S>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind the loopback");
        let address = listener.local_addr().expect("a bound address");
        let state = Arc::new(Mutex::new(S::default()));
        let stopping = Arc::new(AtomicBool::new(false));
        let (shared, stop) = (Arc::clone(&state), Arc::clone(&stopping));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, address, &shared));
            }
        });
        Self { address, state, stopping, thread: Some(thread) }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, S> {
        lock(&self.state)
    }
}

impl<S> Drop for Loopback<S> {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A connection's thread that panicked must not hide the test's own failure.
pub(crate) fn lock<S>(state: &Mutex<S>) -> MutexGuard<'_, S> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
