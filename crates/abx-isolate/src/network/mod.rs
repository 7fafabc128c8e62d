//! The network of a sandbox: its loopback, and a pair of virtual interfaces to the host.
//!
//! ```text
//! sandbox                      host
//! lo  127.0.0.1                nftables table `abx`: what comes from abx… may go out (translated),
//! eth0 10.201.x.y/30 ──────── abx<name> 10.201.x.z/30     not to the host itself, not to other sandboxes,
//!                                                         not to addresses of clouds' metadata services
//! ```
//!
//! All by netlink: starting a program for it costs more than the whole launch.

mod link;
pub(crate) mod netlink;
pub(crate) mod netns;
pub(crate) mod nft;

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;

use crate::error::{Feature, IsolateError, SystemError};
use crate::launch::Network;
use netlink::Netlink;

pub(crate) use link::{delete, host_interfaces, veth_known};
pub use nft::remove_table;
pub(crate) use nft::{dropped_by as forwarding_dropped_by, is_known as nf_tables_known};

/// The network all sandboxes are in: 10.201.0.0/16, four addresses each.
pub(crate) const SUBNET: [u8; 2] = [10, 201];

/// The addresses of one sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    pub host: Ipv4Addr,
    pub guest: Ipv4Addr,
}

/// Length of the common part of the two.
pub(crate) const PREFIX: u8 = 30;

impl Addresses {
    /// Those of `slot`; there are 16384.
    pub fn of_slot(slot: u16) -> Self {
        let start = u32::from(slot % SLOTS) * 4;
        let address = |offset: u32| {
            let [.., third, fourth] = (start + offset).to_be_bytes();
            Ipv4Addr::new(SUBNET[0], SUBNET[1], third, fourth)
        };
        Self { host: address(1), guest: address(2) }
    }
}

/// How many pairs of addresses there are.
pub(crate) const SLOTS: u16 = 16384;

/// The name of the host's end: `abx` and as much of the sandbox's name as fits.
pub fn interface_name(name: &str) -> String {
    format!("abx{}", name.chars().take(12).collect::<String>())
}

/// Makes the network namespace of a sandbox, set up as `network` says.
pub(crate) fn create(name: &str, network: &Network) -> Result<OwnedFd, IsolateError> {
    let enter = failed("enter the namespace");
    let Network::Veth { slot } = network else {
        let (netns, done) = netns::create(|| set_up_inside(None)).map_err(no_namespace)?;
        return done.map(|()| netns);
    };
    let addresses = Addresses::of_slot(*slot);
    allow_forwarding()?;
    nft::ensure_table()?;
    let (netns, ()) = netns::create(|| ()).map_err(no_namespace)?;
    link::connect(&interface_name(name), addresses.host, netns.as_fd())?;
    netns::within(netns.as_fd(), || set_up_inside(Some(addresses))).map_err(enter)??;
    Ok(netns)
}

fn no_namespace(errno: Errno) -> IsolateError {
    IsolateError::Lacks { feature: Feature::Namespaces, source: errno.into() }
}

fn set_up_inside(addresses: Option<Addresses>) -> Result<(), IsolateError> {
    // Nobody inside has a capability over this namespace, so what ordinary programs expect to be allowed is
    // allowed to all: low ports, and `ping` without raw sockets.
    set("ipv4/ip_unprivileged_port_start", "0")?;
    set("ipv4/ping_group_range", "0 2147483647")?;
    let netlink = Netlink::route().map_err(failed("open netlink"))?;
    link::bring_up_guest(&netlink, addresses)
}

fn allow_forwarding() -> Result<(), IsolateError> {
    let path = "/proc/sys/net/ipv4/ip_forward";
    let lacks = |source: std::io::Error| IsolateError::Lacks {
        feature: Feature::IpForwarding,
        source: source.into(),
    };
    if std::fs::read(path).map_err(lacks)?.starts_with(b"0") {
        std::fs::write(path, "1").map_err(lacks)?;
    }
    Ok(())
}

/// Sets a `net.` sysctl of the namespace the thread is in.
fn set(key: &'static str, value: &str) -> Result<(), IsolateError> {
    std::fs::write(format!("/proc/sys/net/{key}"), value).map_err(|error| IsolateError::Network {
        action: format!("set net/{key}").into(),
        source: error.into(),
    })
}

pub(crate) fn failed<E: Into<SystemError>>(action: &'static str) -> impl Fn(E) -> IsolateError {
    move |error| IsolateError::Network { action: action.into(), source: error.into() }
}

/// A refusal that means the kernel has no such thing, or this process no right to it.
pub(crate) fn lacking(feature: Feature, action: &'static str) -> impl Fn(Errno) -> IsolateError {
    move |errno| match errno {
        Errno::OPNOTSUPP | Errno::PROTONOSUPPORT | Errno::AFNOSUPPORT | Errno::PERM | Errno::NOENT => {
            IsolateError::Lacks { feature, source: errno.into() }
        }
        errno => failed(action)(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_have_addresses_of_their_own() {
        for (slot, host, guest) in [
            (0, "10.201.0.1", "10.201.0.2"),
            (1, "10.201.0.5", "10.201.0.6"),
            (64, "10.201.1.1", "10.201.1.2"),
            (16383, "10.201.255.253", "10.201.255.254"),
        ] {
            let addresses = Addresses::of_slot(slot);
            assert_eq!(
                (addresses.host.to_string().as_str(), addresses.guest.to_string().as_str()),
                (host, guest)
            );
        }
    }

    #[test]
    fn interface_names_fit() {
        assert_eq!(interface_name("abcdefghijklmnopqrst"), "abxabcdefghijkl");
    }
}
