//! What is passed between the sandbox's network and the host's.
//!
//! Sockets are made in the network namespace they belong to, before the program starts, and served by one thread of
//! the owner's process, which polls them all: an idle connection costs two descriptors and no buffer.

mod connect;
mod dns;
mod names;
mod serve;
mod serving;
mod stream;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use abx_core::Egress;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use serde::{Deserialize, Serialize};

use crate::error::IsolateError;
use crate::guard::Guard;
use crate::launch::Network;
use crate::network::{Addresses, failed, netns};

pub use dns::resolv_conf;
pub(crate) use serving::{Serving, lock};

/// What to pass, as data. The owner's process does the passing, so it works without any network, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relays {
    /// Answer names inside (at [`DNS_ADDRESS`]) by asking the host's resolvers, whatever they are: loopback stubs
    /// included. Needs a resolv.conf that says so, see [`resolv_conf`].
    pub dns: bool,
    /// Ports of the sandbox that the host can reach.
    pub ports: Vec<PortForward>,
    /// Ports of the host's loopback that can be reached at the same port of the sandbox's, where `egress` allows it.
    pub loopback: Vec<u16>,
    /// What of the outside may be reached, names included; `None`: everything that the host lets through.
    #[serde(default)]
    pub egress: Option<Egress>,
}

/// A listener on the host whose connections are continued to a port of the sandbox's loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortForward {
    /// Where the host listens; port 0 takes a free one.
    pub listen: SocketAddr,
    pub guest: u16,
}

/// Where names are answered inside: `nameserver 127.0.0.11`.
pub const DNS_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 11);
const DNS_PORT: u16 = 53;

/// How much passes; for idle timeouts.
#[derive(Debug, Default)]
pub struct Activity {
    bytes: AtomicU64,
    open: AtomicU64,
    listener: OnceLock<Listening>,
}

/// Whoever is told of connections.
struct Listening(Box<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Listening {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Listening")
    }
}

impl Activity {
    /// Bytes passed so far, in both directions, names asked for included.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Connections open now.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Has each connection told from now on, once it is counted as open. The listener must not wait;
    /// the first one stays.
    pub fn on_connection(&self, listener: impl Fn() + Send + Sync + 'static) {
        let _ = self.listener.set(Listening(Box::new(listener)));
    }

    fn connected(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
        if let Some(listener) = self.listener.get() {
            (listener.0)();
        }
    }
}

/// Where a connection is continued.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// A port of the sandbox's loopback.
    Guest(u16),
    Host(SocketAddr),
    /// The host's resolver, as its configuration says at that moment.
    Resolver,
}

#[derive(Debug)]
struct Listener {
    socket: TcpListener,
    target: Target,
}

/// Sockets that are bound but not served yet.
#[derive(Debug)]
pub(crate) struct Relay {
    netns: OwnedFd,
    listeners: Vec<Listener>,
    dns: Option<UdpSocket>,
    guard: Option<Arc<Guard>>,
    /// The sandbox's address on its own interface, where it has one.
    own_address: Option<Ipv4Addr>,
}

impl Relay {
    /// Makes the sockets: those of the host here, the others in `netns`.
    pub(crate) fn bind(relays: &Relays, network: &Network, netns: OwnedFd) -> Result<Self, IsolateError> {
        let mut listeners = Vec::new();
        for port in &relays.ports {
            listeners.extend(listen_for(*port)?);
        }
        let own_address = match network {
            Network::None => None,
            Network::Veth { slot } => Some(Addresses::of_slot(*slot).guest),
        };
        let guard = relays.egress.as_ref().map(|policy| Guard::new(&netns, policy)).transpose()?;
        let mut relay = Self { netns, listeners, dns: None, guard: guard.map(Arc::new), own_address };
        if relays.dns || !relays.loopback.is_empty() {
            let (inside, dns) = netns::within(relay.netns.as_fd(), || bind_inside(relays))
                .map_err(failed("enter the namespace"))??;
            relay.listeners.extend(inside);
            relay.dns = dns;
        }
        Ok(relay)
    }

    /// The sandbox's network namespace.
    pub(crate) fn netns(&self) -> &OwnedFd {
        &self.netns
    }

    /// Starts to serve.
    pub(crate) fn start(self) -> Result<Serving, IsolateError> {
        Serving::start(self)
    }

    fn ports(&self) -> Vec<PortForward> {
        let bound = |listener: &Listener| match listener.target {
            Target::Guest(guest) => Some(PortForward { listen: listener.socket.local_addr().ok()?, guest }),
            Target::Host(_) | Target::Resolver => None,
        };
        let is_second =
            |port: &PortForward| port.listen == (Ipv6Addr::UNSPECIFIED, port.listen.port()).into();
        self.listeners.iter().filter_map(bound).filter(|port| !is_second(port)).collect()
    }
}

type InsideSockets = (Vec<Listener>, Option<UdpSocket>);

fn bind_inside(relays: &Relays) -> Result<InsideSockets, IsolateError> {
    let mut listeners = Vec::new();
    for port in &relays.loopback {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), *port);
        listeners.push(Listener { socket: listen(address)?, target: Target::Host(address) });
    }
    if !relays.dns {
        return Ok((listeners, None));
    }
    let address = SocketAddr::new(IpAddr::V4(DNS_ADDRESS), DNS_PORT);
    listeners.push(Listener { socket: listen(address)?, target: Target::Resolver });
    let udp = UdpSocket::bind(address).map_err(|error| cannot_listen(address, error))?;
    Ok((listeners, Some(udp)))
}

/// The listeners for one port: a second one where all addresses are meant and the host has those of IPv6.
fn listen_for(port: PortForward) -> Result<Vec<Listener>, IsolateError> {
    let socket = listen(port.listen)?;
    let also = match (port.listen.ip().is_unspecified() && port.listen.is_ipv4(), socket.local_addr()) {
        (true, Ok(bound)) => listen_on_ipv6(bound.port()).ok(),
        _ => None,
    };
    let target = Target::Guest(port.guest);
    Ok([Some(socket), also].into_iter().flatten().map(|socket| Listener { socket, target }).collect())
}

fn listen_on_ipv6(port: u16) -> rustix::io::Result<TcpListener> {
    const WAITING: i32 = 128;
    let socket = socket_with(AddressFamily::INET6, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_ipv6_v6only(&socket, true)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))?;
    rustix::net::listen(&socket, WAITING)?;
    Ok(socket.into())
}

fn listen(address: SocketAddr) -> Result<TcpListener, IsolateError> {
    TcpListener::bind(address).map_err(|error| cannot_listen(address, error))
}

fn cannot_listen(address: SocketAddr, error: std::io::Error) -> IsolateError {
    IsolateError::Listen { address: address.to_string(), source: error.into() }
}
