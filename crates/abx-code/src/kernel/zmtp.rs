//! The client's half of ZMTP 3.0, the wire of ZeroMQ, over TCP and without security.
//!
//! ```text
//! greeting   ff 00×8 7f | 03 00 | "NULL" 00×16 | 00 00×31
//! frame      flags (1 more, 2 long, 4 command), length in 1 or 8 bytes, body
//! READY      a command: 05 "READY", then name (1 byte length) and value (4 bytes length) of each property
//! subscribe  a message of one frame: 01 and the topic's beginning
//! ```
//!
//! A kernel needs no more of it: the connections are to our own child on the loopback, and are signed above.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A message larger than this is dropped as it comes.
pub(crate) const LARGEST: usize = 64 << 20;

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// What an end is to the other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    Dealer,
    /// To everything.
    Subscriber,
}

/// A message's frames.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Frames(Vec<Bytes>),
    /// It was larger than [`LARGEST`] and is gone.
    TooLarge,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    decoder: Decoder,
}

impl Socket {
    /// Connects to a port of the loopback and shakes hands.
    pub(crate) async fn connect(port: u16, role: Role) -> io::Result<Self> {
        let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        stream.set_nodelay(true)?;
        stream.write_all(&greeting()).await?;
        let mut theirs = [0; 64];
        stream.read_exact(&mut theirs).await?;
        check(&theirs)?;
        stream.write_all(&ready(role)).await?;
        let mut socket = Self { stream, decoder: Decoder::default() };
        while !socket.decoder.is_ready()? {
            socket.fill().await?;
        }
        if matches!(role, Role::Subscriber) {
            socket.send(&[&[1]]).await?;
        }
        Ok(socket)
    }

    /// Sends a message of these frames.
    pub(crate) async fn send(&mut self, frames: &[&[u8]]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(frames.iter().map(|frame| frame.len() + 9).sum());
        for (number, frame) in frames.iter().enumerate() {
            let more = if number + 1 < frames.len() { MORE } else { 0 };
            encode(&mut bytes, more, frame);
        }
        self.stream.write_all(&bytes).await
    }

    /// The next message. May be dropped and called again without losing anything.
    pub(crate) async fn receive(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = self.decoder.message() {
                return Ok(message);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.decoder.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

fn greeting() -> [u8; 64] {
    let mut greeting = [0; 64];
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    greeting[12..16].copy_from_slice(b"NULL");
    greeting
}

fn check(theirs: &[u8; 64]) -> io::Result<()> {
    let is_peer = theirs[0] == 0xff && theirs[9] & 1 == 1 && theirs[10] >= 3 && &theirs[12..17] == b"NULL\0";
    if is_peer { Ok(()) } else { Err(nonsense("the other side is no peer of ZMTP 3")) }
}

fn ready(role: Role) -> Vec<u8> {
    let role: &[u8] = match role {
        Role::Dealer => b"DEALER",
        Role::Subscriber => b"SUB",
    };
    let mut body = b"\x05READY\x0bSocket-Type".to_vec();
    body.extend((role.len() as u32).to_be_bytes());
    body.extend(role);
    let mut bytes = Vec::new();
    encode(&mut bytes, COMMAND, &body);
    bytes
}

fn encode(bytes: &mut Vec<u8>, flags: u8, body: &[u8]) {
    match u8::try_from(body.len()) {
        Ok(length) => bytes.extend([flags, length]),
        Err(_) => {
            bytes.push(flags | LONG);
            bytes.extend((body.len() as u64).to_be_bytes());
        }
    }
    bytes.extend(body);
}

fn nonsense(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Bytes in, messages out.
#[derive(Debug, Default)]
struct Decoder {
    buffer: BytesMut,
    frames: Vec<Bytes>,
    /// Bytes of the message so far.
    size: usize,
    /// Bytes of a frame too large that are still to come.
    skip: u64,
    /// Whether the frame being skipped is the last of its message.
    skipped_last: bool,
    too_large: bool,
}

struct Frame {
    flags: u8,
    /// Absent where it is being skipped.
    body: Option<Bytes>,
}

impl Decoder {
    /// Whether the other side's first command has come.
    fn is_ready(&mut self) -> io::Result<bool> {
        match self.frame() {
            None => Ok(false),
            Some(Frame { flags, body: Some(body) })
                if flags & COMMAND != 0 && body.starts_with(b"\x05READY") =>
            {
                Ok(true)
            }
            Some(_) => Err(nonsense("the other side refuses the connection")),
        }
    }

    fn message(&mut self) -> Option<Message> {
        loop {
            if self.skip > 0 {
                let now = self.skip.min(self.buffer.len() as u64);
                self.buffer.advance(now as usize);
                self.skip -= now;
                if self.skip > 0 {
                    return None;
                }
                if self.skipped_last {
                    return Some(self.finish());
                }
            }
            let Frame { flags, body } = self.frame()?;
            if flags & COMMAND != 0 {
                continue;
            }
            let last = flags & MORE == 0;
            match body {
                Some(body) => {
                    self.size += body.len();
                    self.frames.push(body);
                }
                None => {
                    self.skipped_last = last;
                    if self.skip > 0 {
                        continue;
                    }
                }
            }
            if last {
                return Some(self.finish());
            }
        }
    }

    fn finish(&mut self) -> Message {
        let frames = std::mem::take(&mut self.frames);
        self.size = 0;
        self.skipped_last = false;
        if std::mem::take(&mut self.too_large) { Message::TooLarge } else { Message::Frames(frames) }
    }

    /// The next frame, whole; of one too large only the head is taken.
    fn frame(&mut self) -> Option<Frame> {
        let flags = *self.buffer.first()?;
        let (head, length) = if flags & LONG == 0 {
            (2, u64::from(*self.buffer.get(1)?))
        } else {
            (9, u64::from_be_bytes(self.buffer.get(1..9)?.try_into().ok()?))
        };
        if self.too_large || length > (LARGEST - self.size.min(LARGEST)) as u64 {
            self.buffer.advance(head);
            self.frames.clear();
            self.too_large = true;
            self.skip = length;
            return Some(Frame { flags, body: None });
        }
        if self.buffer.len() < head + length as usize {
            return None;
        }
        self.buffer.advance(head);
        Some(Frame { flags, body: Some(self.buffer.split_to(length as usize).freeze()) })
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Every message that comes out when the bytes arrive in pieces of `piece`.
    fn decoded(bytes: &[u8], piece: usize) -> Vec<Message> {
        let mut decoder = Decoder::default();
        let mut messages = Vec::new();
        for piece in bytes.chunks(piece) {
            decoder.buffer.extend_from_slice(piece);
            messages.extend(std::iter::from_fn(|| decoder.message()));
        }
        messages
    }

    #[test]
    fn messages_come_whole_however_they_are_cut() {
        let long = vec![b'x'; 300];
        let mut bytes = Vec::new();
        encode(&mut bytes, MORE, b"topic");
        encode(&mut bytes, COMMAND, b"\x04PING");
        encode(&mut bytes, 0, &long);
        encode(&mut bytes, 0, b"");
        for piece in [1, 2, 7, 64, 1000] {
            let expect = [
                Message::Frames(vec![Bytes::from_static(b"topic"), Bytes::from(long.clone())]),
                Message::Frames(vec![Bytes::new()]),
            ];
            assert_eq!(decoded(&bytes, piece), expect, "{piece}");
        }
    }

    #[test]
    fn what_is_too_large_goes_by_without_being_kept() {
        let mut bytes = Vec::new();
        encode(&mut bytes, MORE, b"topic");
        bytes.push(MORE | LONG);
        bytes.extend((LARGEST as u64 + 1).to_be_bytes());
        let mut decoder = Decoder::default();
        decoder.buffer.extend_from_slice(&bytes);
        for _ in 0..=LARGEST / (1 << 20) {
            assert_eq!(decoder.message(), None);
            assert!(decoder.buffer.is_empty() && decoder.frames.is_empty());
            decoder.buffer.extend_from_slice(&vec![0; 1 << 20]);
        }
        // What came beyond it is the next frames: 2^20 - 1 zero bytes, which are empty last frames.
        assert_eq!(decoder.message(), Some(Message::TooLarge));
        assert_eq!(decoder.message(), Some(Message::Frames(vec![Bytes::new()])));
    }

    #[tokio::test]
    async fn who_does_not_speak_it_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let port = listener.local_addr().expect("address").port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("accept");
            let _ = stream.write_all(&[b'-'; 64]).await;
        });
        let error = Socket::connect(port, Role::Dealer).await.expect_err("no peer");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
