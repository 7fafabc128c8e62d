//! A pipe's end or a terminal, read and written without blocking the thread.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bytes::Bytes;
use rustix::io::{Errno, ioctl_fionbio};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The most bytes one read returns, and so the most one event carries.
pub(crate) const CHUNK: usize = 32 << 10;

thread_local! {
    /// Where reads land before they are copied to memory of their own size.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; CHUNK].into_boxed_slice());
}

/// One descriptor, registered with the runtime.
pub(crate) struct Channel {
    descriptor: AsyncFd<OwnedFd>,
}

impl Channel {
    /// Must be called inside the runtime.
    pub(crate) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        Ok(Self { descriptor: register(descriptor)? })
    }

    /// Waits for bytes; `None` once every writer is gone.
    pub(crate) async fn read(&self) -> Option<Bytes> {
        let bytes = self.descriptor.async_io(Interest::READABLE, read_chunk).await;
        bytes.ok().filter(|bytes| !bytes.is_empty())
    }

    /// What is there right now; `None` when there is nothing, or no writer.
    pub(crate) fn read_now(&self) -> Option<Bytes> {
        read_chunk(self.descriptor.get_ref()).ok().filter(|bytes| !bytes.is_empty())
    }

    /// Writes all of `bytes`, as fast as the reader takes them.
    pub(crate) async fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = self
                .descriptor
                .async_io(Interest::WRITABLE, |descriptor| {
                    Ok(retrying(|| rustix::io::write(descriptor, bytes))?)
                })
                .await?;
            bytes = &bytes[written..];
        }
        Ok(())
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.get_ref().as_fd()
    }
}

/// Makes a descriptor wait in the runtime instead of the thread. Must be called inside the runtime.
pub(crate) fn register(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    ioctl_fionbio(&descriptor, true)?;
    // SAFETY: an owned descriptor stays open, and the same, until the registration is dropped with it.
    Ok(unsafe { AsyncFd::register(descriptor) }?)
}

/// An empty result is the end. A terminal reports its end as EIO.
fn read_chunk(descriptor: &OwnedFd) -> io::Result<Bytes> {
    SCRATCH.with_borrow_mut(|scratch| match retrying(|| rustix::io::read(descriptor, &mut scratch[..])) {
        Ok(length) => Ok(Bytes::copy_from_slice(&scratch[..length])),
        Err(Errno::IO) => Ok(Bytes::new()),
        Err(error) => Err(error.into()),
    })
}

fn retrying<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}
