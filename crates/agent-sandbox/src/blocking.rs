//! Long work on the disk beside the runtime, which tells how far it has come.

use abx_core::{Event, Progress};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::Error;

/// Does `work` on a thread for blocking work, and hands its events on.
pub(crate) async fn blocking<T, E>(
    progress: &dyn Progress,
    work: impl FnOnce(&dyn Progress) -> Result<T, E> + Send + 'static,
) -> Result<T, Error>
where
    T: Send + 'static,
    E: Send + 'static,
    Error: From<E>,
{
    let (sender, mut events) = unbounded_channel();
    let done = tokio::task::spawn_blocking(move || work(&Channel(sender)));
    while let Some(event) = events.recv().await {
        progress.event(event);
    }
    Ok(done.await.map_err(|error| Error::Interrupted { source: error.into() })??)
}

struct Channel(UnboundedSender<Event>);

impl Progress for Channel {
    fn event(&self, event: Event) {
        // Nobody listens any more once the work has been given up.
        let _ = self.0.send(event);
    }
}
