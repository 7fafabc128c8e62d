//! What was refused: heard from the kernel and from the relay, remembered, and told.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use serde::{Deserialize, Serialize};

use crate::network::netlink::{FLAG_ACK, Message, Netlink, attributes, messages};

/// The group of the kernel's log that the table of a sandbox speaks to, in the sandbox's own namespace.
pub(super) const GROUP: u16 = 1;
/// Bytes of a packet that are logged: the headers.
pub(super) const SNAPPED: u32 = 64;

/// The reason of refusals that hold under every policy: metadata services, the host's side of sandboxes, each other.
pub const NO_POLICY_ALLOWS: &str = "what no policy allows";

/// Refusals that are remembered in full.
const REMEMBERED: usize = 32;
/// Addresses whose names are remembered.
const NAMED: usize = 2048;
/// The same refusal is told once in this time.
const QUIET: Duration = Duration::from_secs(10);

/// Something that a sandbox was not let do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Refusal {
    /// `tcp`, `udp`, `icmp`, the number of another protocol, or `dns` for a name that was not resolved.
    pub protocol: String,
    /// An address, with its port where there is one, or a name.
    pub target: String,
    /// The name that the address was found by, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What refused it, in words: ``rule `deny 10.0.0.0/8` ``.
    pub reason: String,
}

/// What was refused in a sandbox's life.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalReport {
    /// How often; of a flood, not all are counted.
    pub count: u64,
    /// The latest, the last one last.
    pub latest: Vec<Refusal>,
}

/// Whoever is told of refusals.
pub(super) type Listener = Box<dyn FnMut(&Refusal) + Send>;

/// The socket on which the kernel tells.
#[derive(Debug)]
pub(super) struct Listening {
    socket: OwnedFd,
}

pub(super) struct Refusals {
    listening: Listening,
    report: RefusalReport,
    told: VecDeque<(Refusal, Instant)>,
    names: HashMap<IpAddr, String>,
    listener: Option<Listener>,
}

impl Listening {
    /// Begins, in the network namespace the thread is in.
    pub(super) fn begin() -> rustix::io::Result<Self> {
        const CONFIGURE: u16 = 4 << 8 | 1;
        const COMMAND: u16 = 1;
        const BIND: u8 = 1;
        const MODE: u16 = 2;
        const COPY_PACKET: u8 = 2;
        let [high, low] = GROUP.to_be_bytes();
        let [range_a, range_b, range_c, range_d] = SNAPPED.to_be_bytes();
        let netlink = Netlink::netfilter()?;
        netlink.send(&[Message::new(CONFIGURE, FLAG_ACK, &[0, 0, high, low])
            .attribute(COMMAND, &[BIND])
            .attribute(MODE, &[range_a, range_b, range_c, range_d, COPY_PACKET, 0])])?;
        Ok(Self { socket: netlink.into_socket() })
    }

    pub(super) fn wake(&self) -> std::io::Result<OwnedFd> {
        self.socket.try_clone()
    }

    /// What the kernel has told since the last call.
    fn next(&self, buffer: &mut [u8]) -> Option<Vec<Refusal>> {
        loop {
            match recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return None,
                Ok((length, _)) => {
                    let told = messages(&buffer[..length]);
                    return Some(told.iter().filter_map(|(kind, body)| refusal(*kind, body)).collect());
                }
                // Some were lost in a flood; there are more.
                Err(Errno::INTR | Errno::NOBUFS) => {}
                Err(_) => return None,
            }
        }
    }
}

impl Refusals {
    pub(super) fn new(listening: Listening) -> Self {
        Self {
            listening,
            report: RefusalReport::default(),
            told: VecDeque::new(),
            names: HashMap::new(),
            listener: None,
        }
    }

    pub(super) fn drain(&mut self) {
        let mut buffer = [0; 4096];
        while let Some(refusals) = self.listening.next(&mut buffer) {
            for refusal in refusals {
                let name = refusal.address().and_then(|address| self.names.get(&address).cloned());
                self.add(Refusal { name, ..refusal });
            }
        }
    }

    pub(super) fn add(&mut self, refusal: Refusal) {
        self.report.count += 1;
        self.report.latest.retain(|known| *known != refusal);
        if self.report.latest.len() == REMEMBERED {
            self.report.latest.remove(0);
        }
        let now = Instant::now();
        let is_told = self.told.iter().any(|(known, when)| *known == refusal && now - *when < QUIET);
        if !is_told {
            if let Some(listener) = &mut self.listener {
                listener(&refusal);
            }
            self.told.truncate(REMEMBERED - 1);
            self.told.push_front((refusal.clone(), now));
        }
        self.report.latest.push(refusal);
    }

    pub(super) fn tell(&mut self, mut listener: Listener) {
        self.report.latest.iter().for_each(&mut listener);
        self.listener = Some(listener);
    }

    pub(super) fn report(&self) -> RefusalReport {
        self.report.clone()
    }

    /// From now on these addresses are a name's.
    pub(super) fn know(&mut self, name: &str, addresses: &[(IpAddr, Duration)]) {
        self.drain();
        if self.names.len() + addresses.len() > NAMED {
            self.names.clear();
        }
        self.names.extend(addresses.iter().map(|(address, _)| (*address, name.to_owned())));
    }
}

impl fmt::Debug for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refusals").field("report", &self.report).finish_non_exhaustive()
    }
}

impl Refusal {
    pub(super) fn of_name(name: &str, reason: String) -> Self {
        Self { protocol: "dns".to_owned(), target: name.to_owned(), name: None, reason }
    }

    pub(super) fn of_address(protocol: &str, address: IpAddr, port: Option<u16>, reason: String) -> Self {
        let target = match port {
            Some(port) => SocketAddr::new(address, port).to_string(),
            None => address.to_string(),
        };
        Self { protocol: protocol.to_owned(), target, name: None, reason }
    }

    /// What a rule has to name for it to be allowed: the name with the port, where there is one.
    pub fn to_allow(&self) -> String {
        let port = self.target.parse().map(|address: SocketAddr| address.port());
        match (&self.name, port) {
            (Some(name), Ok(port)) => format!("{name}:{port}"),
            (Some(name), Err(_)) => name.clone(),
            (None, _) => self.target.clone(),
        }
    }

    fn address(&self) -> Option<IpAddr> {
        let with_port = self.target.parse().map(|address: SocketAddr| address.ip());
        with_port.or_else(|_| self.target.parse()).ok()
    }
}

/// `egress denied tcp 93.184.216.34:443 (example.com) by rule `deny 93.184.216.0/24``
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "egress denied {} {}", self.protocol, self.target)?;
        if let Some(name) = &self.name {
            write!(f, " ({name})")?;
        }
        write!(f, " by {}", self.reason)
    }
}

/// A logged packet: `struct nfgenmsg`, then attributes.
fn refusal(kind: u16, body: &[u8]) -> Option<Refusal> {
    const PACKET: u16 = 4 << 8;
    const PAYLOAD: u16 = 9;
    const PREFIX: u16 = 10;
    if kind != PACKET {
        return None;
    }
    let row = attributes(body.get(4..)?);
    let value = |wanted| row.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| *value);
    let reason = String::from_utf8_lossy(value(PREFIX)?).trim_end_matches('\0').to_owned();
    packet(value(PAYLOAD)?, reason)
}

fn packet(bytes: &[u8], reason: String) -> Option<Refusal> {
    let (address, protocol, behind): (IpAddr, u8, &[u8]) = match bytes.first()? >> 4 {
        4 => {
            let address: [u8; 4] = bytes.get(16..20)?.try_into().ok()?;
            let length = usize::from(bytes[0] & 15) * 4;
            (Ipv4Addr::from(address).into(), *bytes.get(9)?, bytes.get(length..).unwrap_or_default())
        }
        6 => {
            let address: [u8; 16] = bytes.get(24..40)?.try_into().ok()?;
            (Ipv6Addr::from(address).into(), *bytes.get(6)?, bytes.get(40..).unwrap_or_default())
        }
        _ => return None,
    };
    // Sent by the kernel for its own sake: nobody misses it.
    if address.is_multicast() {
        return None;
    }
    let name = match protocol {
        1 | 58 => "icmp".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        number => format!("protocol {number}"),
    };
    let port = behind.get(2..4).filter(|_| matches!(protocol, 6 | 17));
    let port = port.map(|port| u16::from_be_bytes([port[0], port[1]]));
    Some(Refusal::of_address(&name, address, port, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_named_by_protocol_and_target() {
        let mut four = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 93, 184, 216, 34];
        four.extend([0x80, 0, 0x01, 0xbb]);
        let told =
            |bytes: &[u8]| packet(bytes, "rule `deny *`".to_owned()).map(|refusal| refusal.to_string());
        assert_eq!(told(&four).as_deref(), Some("egress denied tcp 93.184.216.34:443 by rule `deny *`"));
        four[9] = 1;
        assert_eq!(told(&four).as_deref(), Some("egress denied icmp 93.184.216.34 by rule `deny *`"));
        let mut six = vec![0x60, 0, 0, 0, 0, 8, 17, 64];
        six.extend([0; 16]);
        six.extend(Ipv6Addr::LOCALHOST.octets());
        six.extend([0, 1, 0, 53]);
        assert_eq!(told(&six).as_deref(), Some("egress denied udp [::1]:53 by rule `deny *`"));
        assert_eq!(told(&six[..30]), None);
        assert_eq!(told(&[]), None);
    }
}
