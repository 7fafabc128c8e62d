//! Netlink messages: just enough to write them and to read acknowledgements.

use std::os::fd::OwnedFd;

use rustix::io::{Errno, Result, retry_on_intr};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// One message, its length filled in when it is sent.
pub(crate) struct Message {
    bytes: Vec<u8>,
}

const HEADER: usize = 16;
const FLAG_REQUEST: u16 = 0x1;
pub(crate) const FLAG_ACK: u16 = 0x4;
pub(crate) const FLAG_EXCLUSIVE: u16 = 0x200;
pub(crate) const FLAG_CREATE: u16 = 0x400;
pub(crate) const FLAG_APPEND: u16 = 0x800;
const NESTED: u16 = 0x8000;
const ERROR: u16 = 0x2;

impl Message {
    /// A request of type `kind` whose fixed part is `body`.
    pub(crate) fn new(kind: u16, flags: u16, body: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | FLAG_REQUEST).to_ne_bytes());
        let mut message = Self { bytes };
        message.put(body);
        message
    }

    /// Appends bytes, padded to four.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(crate) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        self.put_attribute(kind, value);
        self
    }

    pub(crate) fn text(self, kind: u16, value: &str) -> Self {
        self.attribute(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// An attribute that holds what `fill` appends.
    pub(crate) fn nested(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        self.put_attribute(kind | NESTED, &[]);
        let mut message = fill(self);
        let length = (message.bytes.len() - start) as u16;
        message.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        message
    }

    /// Fixed bytes within an attribute.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.put(bytes);
        self
    }

    fn put_attribute(&mut self, kind: u16, value: &[u8]) {
        let length = (4 + value.len()) as u16;
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.put(value);
    }

    /// With these flags beside its own.
    pub(crate) fn with_flags(self, flags: u16) -> Self {
        let flags = self.flags() | flags;
        self.flagged(flags)
    }

    pub(crate) fn without_flags(self, flags: u16) -> Self {
        let flags = self.flags() & !flags;
        self.flagged(flags)
    }

    fn flagged(mut self, flags: u16) -> Self {
        self.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self
    }

    fn flags(&self) -> u16 {
        u16::from_ne_bytes([self.bytes[6], self.bytes[7]])
    }

    fn wants_answer(&self) -> bool {
        self.flags() & FLAG_ACK != 0
    }

    fn append_to(&self, datagram: &mut Vec<u8>, sequence: u32) {
        let start = datagram.len();
        datagram.extend_from_slice(&self.bytes);
        datagram[start..start + 4].copy_from_slice(&(self.bytes.len() as u32).to_ne_bytes());
        datagram[start + 8..start + 12].copy_from_slice(&sequence.to_ne_bytes());
    }
}

/// A socket to the kernel, bound to the network namespace it was made in.
pub(crate) struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    /// For links, addresses and routes.
    pub(crate) fn route() -> Result<Self> {
        // The protocol of number 0.
        Self::open(None)
    }

    /// For packet filters.
    pub(crate) fn netfilter() -> Result<Self> {
        Self::open(Some(netlink::NETFILTER))
    }

    fn open(protocol: Option<Protocol>) -> Result<Self> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        Ok(Self { socket })
    }

    /// The socket itself.
    pub(crate) fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// Makes room for a transaction of any size.
    pub(crate) fn allow_large(&self) -> Result<()> {
        const ROOM: usize = 4 << 20;
        rustix::net::sockopt::set_socket_send_buffer_size_force(&self.socket, ROOM)
    }

    /// Asks for a list and hands each entry (without its message header) to `take`.
    pub(crate) fn list(&self, kind: u16, body: &[u8], mut take: impl FnMut(&[u8])) -> Result<()> {
        const DUMP: u16 = 0x300;
        const DONE: u16 = 0x3;
        let mut datagram = Vec::new();
        Message::new(kind, DUMP, body).append_to(&mut datagram, 1);
        retry_on_intr(|| send(&self.socket, &datagram, SendFlags::empty()))?;
        let mut buffer = vec![0u8; 32 * 1024];
        loop {
            let (length, _) = retry_on_intr(|| recv(&self.socket, &mut buffer[..], RecvFlags::empty()))?;
            if let Some(Some(errno)) = answers(&buffer[..length]).first() {
                return Err(*errno);
            }
            for (kind, entry) in messages(&buffer[..length]) {
                if kind == DONE {
                    return Ok(());
                }
                take(entry);
            }
        }
    }

    /// Sends all messages as one datagram and waits for the answers of those that want one; the first refusal
    /// is the error. Messages outside a batch take effect one by one.
    pub(crate) fn send(&self, messages: &[Message]) -> Result<()> {
        let mut datagram = Vec::with_capacity(1024);
        for (index, message) in messages.iter().enumerate() {
            message.append_to(&mut datagram, index as u32 + 1);
        }
        retry_on_intr(|| send(&self.socket, &datagram, SendFlags::empty()))?;
        let mut outstanding = messages.iter().filter(|message| message.wants_answer()).count();
        let mut refusal = None;
        let mut buffer = vec![0u8; 8192];
        while outstanding > 0 {
            let (length, _) = retry_on_intr(|| recv(&self.socket, &mut buffer[..], RecvFlags::empty()))?;
            for answer in answers(&buffer[..length]) {
                outstanding = outstanding.saturating_sub(1);
                if let (Some(errno), None) = (answer, refusal) {
                    refusal = Some(errno);
                    // A refused batch is not answered message by message.
                    outstanding = 0;
                }
            }
        }
        refusal.map_or(Ok(()), Err)
    }
}

/// An attribute's type and value.
type Attribute<'a> = (u16, &'a [u8]);

/// Splits a row of attributes; a length that makes no sense ends it.
pub(crate) fn attributes(mut row: &[u8]) -> Vec<Attribute<'_>> {
    let mut found = Vec::new();
    while row.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([row[0], row[1]]));
        let kind = u16::from_ne_bytes([row[2], row[3]]) & !NESTED;
        let Some(value) = row.get(4..length) else { break };
        found.push((kind, value));
        row = &row[length.next_multiple_of(4).min(row.len())..];
    }
    found
}

/// The errors (or `None` for success) in a datagram of acknowledgements.
fn answers(datagram: &[u8]) -> Vec<Option<Errno>> {
    let errors = messages(datagram).into_iter().filter(|(kind, body)| *kind == ERROR && body.len() >= 4);
    let errno = |body: &[u8]| -i32::from_ne_bytes([body[0], body[1], body[2], body[3]]);
    errors
        .map(|(_, body)| errno(body))
        .map(|errno| (errno != 0).then(|| Errno::from_raw_os_error(errno)))
        .collect()
}

/// Splits a datagram into messages: type and what follows the header.
pub(crate) fn messages(mut datagram: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    while datagram.len() >= HEADER {
        let length = u32::from_ne_bytes([datagram[0], datagram[1], datagram[2], datagram[3]]) as usize;
        let length = length.clamp(HEADER, datagram.len());
        found.push((u16::from_ne_bytes([datagram[4], datagram[5]]), &datagram[HEADER..length]));
        datagram = &datagram[length.next_multiple_of(4).min(datagram.len())..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_nest_and_are_padded() {
        let message = Message::new(16, FLAG_ACK, &[1, 2, 3, 4])
            .nested(18, |inner| inner.text(1, "veth"))
            .attribute(3, &[9]);
        let mut datagram = Vec::new();
        message.append_to(&mut datagram, 7);
        assert_eq!(datagram.len(), 16 + 4 + 4 + 12 + 8);
        assert_eq!(datagram[0..4], 44u32.to_ne_bytes());
        assert_eq!(datagram[8..12], 7u32.to_ne_bytes());
        assert_eq!(datagram[20..24], [16, 0, 18, 0x80], "length and type of the outer attribute");
        assert_eq!(datagram[24..28], [9, 0, 1, 0], "length and type of the inner one");
        assert_eq!(&datagram[28..33], b"veth\0");
        assert_eq!(datagram[36..41], [5, 0, 3, 0, 9]);
    }

    #[test]
    fn refusals_are_read() {
        let mut datagram = Vec::new();
        for errno in [0i32, -17] {
            datagram.extend_from_slice(&36u32.to_ne_bytes());
            datagram.extend_from_slice(&ERROR.to_ne_bytes());
            datagram.extend_from_slice(&[0; 10]);
            datagram.extend_from_slice(&errno.to_ne_bytes());
            datagram.extend_from_slice(&[0; 16]);
        }
        assert_eq!(answers(&datagram), [None, Some(Errno::EXIST)]);
    }
}
