//! The other end of a connection.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use crate::network::netns;

#[derive(Clone, Copy, Debug)]
pub(super) enum Address {
    Guest(SocketAddr),
    Host(SocketAddr),
}

/// What is closed after this is told so by a reset, as a closed port would.
pub(super) fn reset(client: &TcpStream) {
    let _ = sockopt::set_socket_linger(client, Some(Duration::ZERO));
}

/// Begins to connect, from the namespace the address is in.
pub(super) fn begin(netns: &OwnedFd, address: Address) -> Result<TcpStream> {
    let make = |address: SocketAddr| {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        socket_with(family, SocketType::STREAM, flags, None).map(|socket| (socket, address))
    };
    let (socket, address) = match address {
        Address::Host(address) => make(address)?,
        Address::Guest(address) => netns::within(netns.as_fd(), || make(address))??,
    };
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(errno) => Err(errno),
    }
}
