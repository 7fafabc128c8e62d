//! What is passed between the sandbox's network and the host's.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// What to pass, as data. The owner's process does the passing, so it works without any network, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relays {
    /// Answer names inside (at [`DNS_ADDRESS`]) by asking the host's resolvers. Needs a resolv.conf that says so.
    pub dns: bool,
    /// Ports of the sandbox that the host can reach.
    pub ports: Vec<PortForward>,
    /// Ports of the host's loopback that can be reached at the same port of the sandbox's.
    pub loopback: Vec<u16>,
}

/// A listener on the host whose connections are continued to a port of the sandbox's loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortForward {
    /// Where the host listens; port 0 takes a free one.
    pub listen: SocketAddr,
    pub guest: u16,
}

/// Where names are answered inside: `nameserver 127.0.0.11`.
pub const DNS_ADDRESS: std::net::Ipv4Addr = std::net::Ipv4Addr::new(127, 0, 0, 11);
