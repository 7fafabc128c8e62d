//! One connection continued by another.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

/// Two connected sockets, both non-blocking.
#[derive(Debug)]
pub(super) struct Pair {
    ends: [TcpStream; 2],
    /// What goes from the first to the second, and back.
    flows: [Flow; 2],
}

/// One direction.
#[derive(Debug, Default)]
struct Flow {
    /// Read but not taken by the other end yet; nothing more is read until it is.
    rest: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// The source has said all; the rest is still on its way.
    Ending,
    Done,
}

/// What is left to do after a turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing until a socket is ready again.
    Waiting,
    /// More could be passed at once, but others are to have their turn.
    Busy,
    Finished,
}

/// Reads in one turn, so that one fast connection does not starve the others.
const TURN: usize = 16;

impl Pair {
    pub(super) fn new(one: TcpStream, other: TcpStream) -> Self {
        Self { ends: [one, other], flows: Default::default() }
    }

    /// Passes what can be passed and counts it in `bytes`. An error of either end finishes both.
    pub(super) fn turn(&mut self, buffer: &mut [u8], bytes: &mut u64) -> Turn {
        let mut busy = false;
        for direction in 0..2 {
            let (from, to) = (&self.ends[direction], &self.ends[1 - direction]);
            match self.flows[direction].pass(from, to, buffer, bytes) {
                Ok(more) => busy |= more,
                Err(_) => return Turn::Finished,
            }
        }
        if self.flows.iter().all(|flow| flow.state == State::Done) {
            Turn::Finished
        } else if busy {
            Turn::Busy
        } else {
            Turn::Waiting
        }
    }
}

impl Flow {
    /// `true` when the turn ended before the data did.
    fn pass(
        &mut self,
        mut from: &TcpStream,
        to: &TcpStream,
        buffer: &mut [u8],
        bytes: &mut u64,
    ) -> std::io::Result<bool> {
        for _ in 0..TURN {
            if self.state == State::Done || !self.flush(to)? {
                return Ok(false);
            }
            if self.state == State::Ending {
                self.state = State::Done;
                // An end that is gone already needs no telling.
                let _ = to.shutdown(Shutdown::Write);
                return Ok(false);
            }
            match from.read(buffer) {
                Ok(0) => self.state = State::Ending,
                Ok(length) => {
                    *bytes += length as u64;
                    let taken = write_some(to, &buffer[..length])?;
                    self.rest.extend_from_slice(&buffer[taken..length]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// `true` when nothing is left over.
    fn flush(&mut self, to: &TcpStream) -> std::io::Result<bool> {
        if self.rest.is_empty() {
            return Ok(true);
        }
        let taken = write_some(to, &self.rest)?;
        self.rest.drain(..taken);
        if self.rest.is_empty() {
            self.rest = Vec::new();
        }
        Ok(self.rest.is_empty())
    }
}

/// Writes until all is taken or the socket is full, and returns how much was taken.
fn write_some(mut to: &TcpStream, bytes: &[u8]) -> std::io::Result<usize> {
    let mut taken = 0;
    while taken < bytes.len() {
        match to.write(&bytes[taken..]) {
            Ok(length) => taken += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}
