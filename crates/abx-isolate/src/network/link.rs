//! Interfaces, addresses and routes.

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use super::netlink::{FLAG_ACK, FLAG_CREATE, FLAG_EXCLUSIVE, Message, Netlink};
use super::{Addresses, PREFIX, failed, lacking};
use crate::error::{Feature, IsolateError};

const NEW_LINK: u16 = 16;
const DELETE_LINK: u16 = 17;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;

const LINK_NAME: u16 = 3;
const LINK_MTU: u16 = 4;
const LINK_INFO: u16 = 18;
const LINK_NETNS_FD: u16 = 28;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const VETH_PEER: u16 = 1;
const ADDRESS_LOCAL: u16 = 2;
const ADDRESS: u16 = 1;
const ROUTE_INTERFACE: u16 = 4;
const ROUTE_GATEWAY: u16 = 5;

const LOOPBACK: u32 = 1;
const GUEST_INTERFACE: &str = "eth0";

/// Makes the pair, the guest's end straight in `netns`, and sets up the host's end.
pub(super) fn connect(name: &str, address: Ipv4Addr, netns: BorrowedFd<'_>) -> Result<(), IsolateError> {
    let netlink = Netlink::route().map_err(failed("open netlink"))?;
    let pair = pair(name, uplink_mtu(), netns);
    match netlink.send(&[pair]) {
        Err(errno) if is_unknown_kind(errno) => {
            return Err(lacking(Feature::Veth, "make the interfaces")(errno));
        }
        result => result.map_err(failed("make the interfaces"))?,
    }
    // Link-local addresses of IPv6 would be a way around what the table says about addresses.
    disable_ipv6(name);
    let index = index_of(name).map_err(failed("find the interface"))?;
    netlink
        .send(&[new_address(index, address), bring_up(index)])
        .map_err(failed("set up the host's interface"))
}

/// Sets up the loopback and, with addresses, the guest's end; in the sandbox's namespace.
pub(super) fn bring_up_guest(netlink: &Netlink, addresses: Option<Addresses>) -> Result<(), IsolateError> {
    let mut messages = vec![bring_up(LOOPBACK)];
    if let Some(Addresses { host, guest }) = addresses {
        disable_ipv6(GUEST_INTERFACE);
        let index = index_of(GUEST_INTERFACE).map_err(failed("find the sandbox's interface"))?;
        messages.extend([new_address(index, guest), bring_up(index), default_route(index, host)]);
    }
    netlink.send(&messages).map_err(failed("set up the sandbox's interfaces"))
}

/// Removes an interface of the host; one that is gone is fine.
pub(crate) fn delete(name: &str) -> Result<(), IsolateError> {
    let netlink = Netlink::route().map_err(failed("open netlink"))?;
    let message = Message::new(DELETE_LINK, FLAG_ACK, &link_header(0, false)).text(LINK_NAME, name);
    match netlink.send(&[message]) {
        Ok(()) | Err(Errno::NODEV) => Ok(()),
        Err(errno) => Err(failed("remove the interface")(errno)),
    }
}

/// Asks for a pair whose name no interface can have: the kernel looks for the kind first.
pub(crate) fn veth_known() -> rustix::io::Result<()> {
    let flags = FLAG_ACK | FLAG_CREATE | FLAG_EXCLUSIVE;
    let message = Message::new(NEW_LINK, flags, &link_header(0, false))
        .text(LINK_NAME, "a/b")
        .nested(LINK_INFO, |info| info.text(INFO_KIND, "veth"));
    match Netlink::route()?.send(&[message]) {
        Err(Errno::INVAL) => Ok(()),
        result => result,
    }
}

/// The host's interfaces that are named like ours.
pub(crate) fn host_interfaces() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/sys/class/net") else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("abx")).collect()
}

fn pair(name: &str, mtu: Option<u32>, netns: BorrowedFd<'_>) -> Message {
    let with_mtu = |message: Message| match mtu {
        Some(mtu) => message.attribute(LINK_MTU, &mtu.to_ne_bytes()),
        None => message,
    };
    let peer = |message: Message| {
        with_mtu(message.bytes(&link_header(0, false)).text(LINK_NAME, GUEST_INTERFACE))
            .attribute(LINK_NETNS_FD, &netns.as_raw_fd().to_ne_bytes())
    };
    let flags = FLAG_ACK | FLAG_CREATE | FLAG_EXCLUSIVE;
    with_mtu(Message::new(NEW_LINK, flags, &link_header(0, false)).text(LINK_NAME, name))
        .nested(LINK_INFO, |info| {
            info.text(INFO_KIND, "veth").nested(INFO_DATA, |data| data.nested(VETH_PEER, peer))
        })
}

fn bring_up(index: u32) -> Message {
    Message::new(NEW_LINK, FLAG_ACK, &link_header(index, true))
}

/// `struct ifinfomsg`.
fn link_header(index: u32, up: bool) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    let flag = if up { libc::IFF_UP as u32 } else { 0 };
    header[8..12].copy_from_slice(&flag.to_ne_bytes());
    header[12..16].copy_from_slice(&flag.to_ne_bytes());
    header
}

fn new_address(index: u32, address: Ipv4Addr) -> Message {
    // struct ifaddrmsg: family, prefix length, flags, scope, index
    let mut header = [libc::AF_INET as u8, PREFIX, 0, 0, 0, 0, 0, 0];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    Message::new(NEW_ADDRESS, FLAG_ACK | FLAG_CREATE, &header)
        .attribute(ADDRESS_LOCAL, &address.octets())
        .attribute(ADDRESS, &address.octets())
}

fn default_route(index: u32, gateway: Ipv4Addr) -> Message {
    // struct rtmsg: family, lengths of destination, source, tos, table, protocol, scope, type, flags
    let (main, static_, universe, unicast) = (254, 4, 0, 1);
    let header = [libc::AF_INET as u8, 0, 0, 0, main, static_, universe, unicast, 0, 0, 0, 0];
    Message::new(NEW_ROUTE, FLAG_ACK | FLAG_CREATE, &header)
        .attribute(ROUTE_GATEWAY, &gateway.octets())
        .attribute(ROUTE_INTERFACE, &index.to_ne_bytes())
}

fn index_of(name: &str) -> rustix::io::Result<u32> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    rustix::net::netdevice::name_to_index(&socket, name)
}

/// A kernel without IPv6 has nothing to disable.
fn disable_ipv6(interface: &str) {
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "1");
}

/// The packet size of the interface with the default route: a larger one inside would depend on messages that
/// many networks drop.
fn uplink_mtu() -> Option<u32> {
    let routes = std::fs::read_to_string("/proc/net/route").ok()?;
    let interface = default_interface(&routes)?;
    std::fs::read_to_string(format!("/sys/class/net/{interface}/mtu")).ok()?.trim().parse().ok()
}

/// From lines of interface, destination, gateway, …
fn default_interface(routes: &str) -> Option<&str> {
    routes.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (interface, destination) = (fields.next()?, fields.next()?);
        (destination == "00000000").then_some(interface)
    })
}

fn is_unknown_kind(errno: Errno) -> bool {
    matches!(errno, Errno::OPNOTSUPP | Errno::PERM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_route_names_the_uplink() {
        let routes = "Iface\tDestination\tGateway\ndocker0\t000011AC\t00000000\neth0\t00000000\t010200C0\n";
        assert_eq!(default_interface(routes), Some("eth0"));
        assert_eq!(default_interface("Iface\tDestination\n"), None);
    }
}
