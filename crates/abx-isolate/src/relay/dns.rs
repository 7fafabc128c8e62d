//! Names: each question goes on to the host's resolver from a socket of its own, and its answer back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use super::{DNS_ADDRESS, DNS_PORT};
use crate::guard::Guard;

/// A question on its way.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) socket: UdpSocket,
    client: SocketAddr,
    question: Vec<u8>,
    /// Those not asked yet.
    resolvers: Vec<SocketAddr>,
    pub(super) deadline: Instant,
}

/// How long one resolver may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// A header is twelve bytes.
const SHORTEST: usize = 12;

impl Query {
    /// Asks the first resolver that can be asked.
    pub(super) fn ask(question: &[u8], client: SocketAddr) -> Option<Self> {
        if question.len() < SHORTEST {
            return None;
        }
        Self::ask_one_of(host_resolvers(), question.to_owned(), client)
    }

    /// Asks the next one.
    pub(super) fn ask_next(self) -> Option<Self> {
        Self::ask_one_of(self.resolvers, self.question, self.client)
    }

    fn ask_one_of(mut resolvers: Vec<SocketAddr>, question: Vec<u8>, client: SocketAddr) -> Option<Self> {
        while !resolvers.is_empty() {
            let resolver = resolvers.remove(0);
            if let Ok(socket) = send(&question, resolver) {
                return Some(Self {
                    socket,
                    client,
                    question,
                    resolvers,
                    deadline: Instant::now() + PATIENCE,
                });
            }
        }
        None
    }

    /// Passes the answer on, and tells whether there was one: `false` where the resolver is not there, or where
    /// what came does not answer the question.
    /// A guard has its say first.
    pub(super) fn answer(&self, through: &UdpSocket, guard: Option<&Guard>, buffer: &mut [u8]) -> bool {
        let Ok(length) = self.socket.recv(buffer) else { return false };
        let answer = &buffer[..length];
        let answers = length >= SHORTEST && answer[..2] == self.question[..2];
        if answers {
            let other = guard.and_then(|guard| guard.answer(&self.question, answer));
            let _ = through.send_to(other.as_deref().unwrap_or(answer), self.client);
        }
        answers
    }
}

fn send(question: &[u8], resolver: SocketAddr) -> std::io::Result<UdpSocket> {
    let any: IpAddr =
        if resolver.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.set_nonblocking(true)?;
    socket.connect(resolver)?;
    socket.send(question)?;
    Ok(socket)
}

/// Those the host uses at this moment: it may have moved to another network since the last question.
pub(super) fn host_resolvers() -> Vec<SocketAddr> {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let mut resolvers = resolvers(&text);
    if resolvers.is_empty() {
        // As the C library does.
        resolvers.push(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), DNS_PORT));
    }
    resolvers
}

fn resolvers(text: &str) -> Vec<SocketAddr> {
    let address = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (keyword, value) = (words.next()?, words.next()?);
        // A zone (`fe80::1%eth0`) has no place in a plain address.
        (keyword == "nameserver").then(|| value.split('%').next()?.parse::<IpAddr>().ok())?
    };
    text.lines().filter_map(address).map(|address| SocketAddr::new(address, DNS_PORT)).take(3).collect()
}

/// The resolv.conf of a sandbox whose names are relayed: ours as the only name server, and the host's search list
/// and options.
pub fn resolv_conf(of_host: &str) -> String {
    let mut text = format!("nameserver {DNS_ADDRESS}\n");
    for line in of_host.lines() {
        if matches!(line.split_ascii_whitespace().next(), Some("search" | "domain" | "options")) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolvers_are_read() {
        let text = "# nameserver 9.9.9.9\nsearch corp\nnameserver 127.0.0.53\nnameserver fe80::1%eth0\nnameserver x\n";
        let found: Vec<_> = resolvers(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["127.0.0.53:53", "[fe80::1]:53"]);
    }

    #[test]
    fn the_sandbox_keeps_search_and_options() {
        let inside = resolv_conf("nameserver 10.0.0.1\nsearch corp lan\noptions ndots:2\n# x\n");
        assert_eq!(inside, "nameserver 127.0.0.11\nsearch corp lan\noptions ndots:2\n");
    }
}
