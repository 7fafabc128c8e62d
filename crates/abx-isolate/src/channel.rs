//! Between the owner and the child that becomes the sandbox: each step the owner completes is a byte with a
//! descriptor; the end of the channel is the owner's end.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, Result, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// One end. The owner sends, the child receives.
pub(crate) struct Channel(OwnedFd);

impl Channel {
    /// The owner's end and the child's.
    pub(crate) fn pair() -> Result<(Self, Self)> {
        let (owner, child) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok((Self(owner), Self(child)))
    }

    /// Hands over `descriptor`; a child that is gone is no error here, it has said why elsewhere.
    pub(crate) fn send(&self, descriptor: BorrowedFd<'_>) -> Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = [descriptor];
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let sent = sendmsg(&self.0, &[IoSlice::new(b"x")], &mut ancillary, SendFlags::NOSIGNAL);
        match sent {
            Ok(_) | Err(Errno::PIPE | Errno::CONNRESET) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// What the owner handed over next; `None` when it gave up.
    pub(crate) fn receive(&self) -> Result<Option<OwnedFd>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        retry_on_intr(|| {
            recvmsg(&self.0, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        })?;
        Ok(ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        }))
    }

    /// Whether the other end is gone.
    pub(crate) fn is_over(&self) -> Result<bool> {
        let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        Ok(polled[0].revents().contains(PollFlags::HUP))
    }
}
