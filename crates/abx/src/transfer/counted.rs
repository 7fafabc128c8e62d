use std::pin::Pin;
use std::task::{Context, Poll, ready};

use abx_core::progress::Task;
use tokio::io::{AsyncRead, ReadBuf};

/// A reader that reports what passes.
pub(super) struct Counted<'a, R> {
    reader: R,
    task: &'a Task<'a>,
    total: &'a mut u64,
}

impl<'a, R> Counted<'a, R> {
    /// Adds to `total` and advances `task`.
    pub(super) fn new(reader: R, task: &'a Task<'a>, total: &'a mut u64) -> Self {
        Self { reader, task, total }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Counted<'_, R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.reader).poll_read(context, buffer))?;
        let read = (buffer.filled().len() - before) as u64;
        *this.total += read;
        this.task.advance(read);
        Poll::Ready(Ok(()))
    }
}
