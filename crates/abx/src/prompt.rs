//! Asks the person at the terminal for a secret, and shows stars for what is typed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use agent_sandbox::core::Secret;
use tokio::signal::unix::{SignalKind, signal};

use crate::attach::Input;
use crate::terminal::RawMode;
use crate::{EdgeError, Failure};

/// The longest answer.
const LENGTH: usize = 4096;

/// Waits for a line on the terminal of this process; `None` where it is refused by Ctrl-C or Ctrl-D.
///
/// The terminal shows the question, a star a letter and the line's end, and is as before afterwards, at a signal
/// that ends the process too.
pub(crate) fn masked(question: &str) -> Result<Option<Secret>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let answer = runtime.map_err(EdgeError::Runtime)?.block_on(ask(question))?;
    answer.map_err(|source| EdgeError::Read { path: "/dev/tty".into(), source }.into())
}

async fn ask(question: &str) -> Result<io::Result<Option<Secret>>, Failure> {
    let listen = |kind| signal(kind).map_err(EdgeError::Signals);
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    let number = tokio::select! {
        answer = converse(question) => return Ok(answer),
        _ = interrupt.recv() => 2,
        _ = terminate.recv() => 15,
        _ = hangup.recv() => 1,
    };
    Err(Failure::Interrupted(number))
}

async fn converse(question: &str) -> io::Result<Option<Secret>> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let raw = RawMode::enter(&terminal)?;
    let mut keys = Input::start(&terminal)?;
    say(&terminal, question);
    let mut line = Line::default();
    let answer = loop {
        // A terminal that is gone gives no answer.
        let Some(pressed) = keys.next().await else { break None };
        let mut shown = String::new();
        let done = pressed.iter().find_map(|key| line.press(*key, &mut shown));
        say(&terminal, &shown);
        match done {
            Some(Done::Entered) => break Some(line.answer()),
            Some(Done::Refused) => break None,
            None => {}
        }
    };
    say(&terminal, "\r\n");
    drop(raw);
    Ok(answer)
}

/// What cannot be shown is no reason not to listen.
fn say(mut terminal: &File, text: &str) {
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Entered,
    Refused,
}

/// What was typed so far.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    escape: Escape,
}

/// How far we are within the sequence of a key such as an arrow, or of a paste's brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    Outside,
    Begun,
    Within,
}

const ERASE: &str = "\u{8} \u{8}";

impl Line {
    /// Takes a key; what it changes on the screen is added to `shown`.
    fn press(&mut self, key: u8, shown: &mut String) -> Option<Done> {
        match (self.escape, key) {
            (Escape::Begun, b'[' | b'O') => self.escape = Escape::Within,
            (Escape::Within, 0x40..=0x7e) | (Escape::Begun, _) => self.escape = Escape::Outside,
            (Escape::Within, _) => {}
            (Escape::Outside, 0x1b) => self.escape = Escape::Begun,
            (Escape::Outside, b'\r' | b'\n') => return Some(Done::Entered),
            // Ctrl-C, Ctrl-D.
            (Escape::Outside, 3 | 4) => return Some(Done::Refused),
            (Escape::Outside, 8 | 0x7f) => self.erase(shown),
            // Ctrl-U.
            (Escape::Outside, 0x15) => {
                while !self.bytes.is_empty() {
                    self.erase(shown);
                }
            }
            (Escape::Outside, 0..0x20) => {}
            (Escape::Outside, letter) if self.bytes.len() < LENGTH => {
                self.bytes.push(letter);
                // The first byte of a letter only.
                if letter & 0xc0 != 0x80 {
                    shown.push('*');
                }
            }
            (Escape::Outside, _) => {}
        }
        None
    }

    fn erase(&mut self, shown: &mut String) {
        while let Some(letter) = self.bytes.pop() {
            if letter & 0xc0 != 0x80 {
                shown.push_str(ERASE);
                return;
            }
        }
    }

    fn answer(&self) -> Secret {
        Secret::new(String::from_utf8_lossy(&self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_stars_and_the_line() {
        let rub = |times: usize| ERASE.repeat(times);
        for (keys, shown, end, answer) in [
            ("abc\r", "***".to_owned(), Some(Done::Entered), "abc"),
            ("ab\u{7f}\u{8}c\n", format!("**{}*", rub(2)), Some(Done::Entered), "c"),
            ("ab\u{15}x\r", format!("**{}*", rub(2)), Some(Done::Entered), "x"),
            ("é\u{7f}a\r", format!("*{}*", rub(1)), Some(Done::Entered), "a"),
            ("\u{1b}[200~ab\u{1b}[201~\r", "**".to_owned(), Some(Done::Entered), "ab"),
            ("a\u{1b}[D\u{1b}OAb\r", "**".to_owned(), Some(Done::Entered), "ab"),
            ("a\u{3}", "*".to_owned(), Some(Done::Refused), "a"),
            ("\u{4}", String::new(), Some(Done::Refused), ""),
            ("\u{7f}\t", String::new(), None, ""),
        ] {
            let (mut line, mut seen) = (Line::default(), String::new());
            let done = keys.bytes().find_map(|key| line.press(key, &mut seen));
            assert_eq!((seen, done, line.answer().expose()), (shown, end, answer), "{keys:?}");
        }
    }
}
