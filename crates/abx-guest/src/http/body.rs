//! Bodies of responses.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt};
use hyper::body::{Frame, SizeHint};

/// Nothing, bytes at hand, or bytes to come. Dropping a stream tells its producer that nobody listens.
pub(crate) enum Body {
    Whole(Option<Bytes>),
    Stream(Pin<Box<dyn Stream<Item = io::Result<Bytes>>>>),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Whole(None)
    }

    /// Bytes to come; an error cuts the connection, so that the receiver cannot take a part for the whole.
    pub(crate) fn fallible(stream: impl Stream<Item = io::Result<Bytes>> + 'static) -> Self {
        Self::Stream(Box::pin(stream))
    }

    /// Bytes to come.
    pub(crate) fn stream(stream: impl Stream<Item = Bytes> + 'static) -> Self {
        Self::fallible(stream.map(Ok))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Whole((!bytes.is_empty()).then_some(bytes))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(stream) => {
                stream.as_mut().poll_next(context).map(|item| item.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
