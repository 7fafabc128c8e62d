//! What a server on the loopback sends as it is, be it HTTP or not.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;

/// An answer, to the byte. The connection ends with it.
#[derive(Clone, Debug)]
pub enum Wire {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These, and then nothing for so long.
    Silent(Vec<u8>, Duration),
    /// The first ones at once, the others one by one, each after so long.
    Drip(Vec<u8>, Vec<u8>, Duration),
    /// The first ones once, the others again and again while somebody listens.
    Endless(Vec<u8>, Vec<u8>),
}

impl Wire {
    /// The head of a response with these headers.
    pub fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("HTTP/1.1 {status} Told\r\nConnection: close\r\n{headers}\r\n").into_bytes()
    }

    pub(crate) fn send(&self, stream: &mut TcpStream) -> io::Result<()> {
        match self {
            Self::Bytes(bytes) => stream.write_all(bytes),
            Self::Silent(bytes, time) => {
                stream.write_all(bytes)?;
                std::thread::sleep(*time);
                Ok(())
            }
            Self::Drip(start, rest, every) => {
                stream.write_all(start)?;
                rest.iter().try_for_each(|byte| {
                    std::thread::sleep(*every);
                    stream.write_all(&[*byte])
                })
            }
            Self::Endless(start, again) => {
                stream.write_all(start)?;
                loop {
                    stream.write_all(again)?;
                }
            }
        }
    }
}
