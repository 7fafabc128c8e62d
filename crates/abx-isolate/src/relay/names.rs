//! Names asked for through a connection, where a guard has its say: for answers that do not fit a datagram.
//!
//! A thread each, since this is rare and short: they read one message after the other, and nothing waits for them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::dns::host_resolvers;
use crate::guard::{Guard, Question};

/// Connections at once; more are refused.
const MOST_STREAMS: usize = 16;
/// Questions through one.
const MOST_QUESTIONS: usize = 64;
/// How long either side may take over a message.
const PATIENCE: Duration = Duration::from_secs(3);

/// How many there are.
#[derive(Debug, Default)]
pub(super) struct Streams(Arc<AtomicUsize>);

/// Counts one as long as it lives.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Streams {
    /// Answers until the client hangs up or says nothing more.
    pub(super) fn serve(&self, client: TcpStream, guard: &Arc<Guard>) {
        let counted = Counted(self.0.clone());
        if self.0.fetch_add(1, Ordering::Relaxed) >= MOST_STREAMS {
            return;
        }
        let guard = guard.clone();
        let serve = move || {
            let _counted = counted;
            // Whatever goes wrong ends the connection, which tells the client.
            let _ = answer_all(client, &guard);
        };
        let builder = std::thread::Builder::new().name("abx-names".to_owned()).stack_size(256 * 1024);
        // Without a thread the connection is closed.
        drop(builder.spawn(serve));
    }
}

fn answer_all(mut client: TcpStream, guard: &Guard) -> std::io::Result<()> {
    client.set_nonblocking(false)?;
    be_patient(&client)?;
    for _ in 0..MOST_QUESTIONS {
        let question = receive(&mut client)?;
        let answer = match guard.question(&question) {
            Question::Ask => {
                let answer = ask(&question)?;
                guard.answer(&question, &answer).unwrap_or(answer)
            }
            Question::Answered(answer) => answer,
            Question::Nonsense => return Ok(()),
        };
        send(&mut client, &answer)?;
    }
    Ok(())
}

/// The answer of the first of the host's resolvers that has one.
fn ask(question: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut last = std::io::ErrorKind::NotFound.into();
    for resolver in host_resolvers() {
        let answer = TcpStream::connect_timeout(&resolver, PATIENCE).and_then(|mut stream| {
            be_patient(&stream)?;
            send(&mut stream, question)?;
            receive(&mut stream)
        });
        match answer {
            Ok(answer) => return Ok(answer),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn be_patient(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))
}

/// A message has its length before it.
fn receive(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut message)?;
    Ok(message)
}

fn send(stream: &mut TcpStream, message: &[u8]) -> std::io::Result<()> {
    let length = u16::try_from(message.len()).map_err(|_| std::io::ErrorKind::InvalidData)?;
    stream.write_all(&[&length.to_be_bytes(), message].concat())
}
