//! What is said between a keeper and those who want something of it: one JSON object a line.

use std::time::Duration;

use abx_core::{Code, Fault};
use abx_engine::EngineError;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::place::Place;

/// What is asked of a keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    /// Whether the template is still what it was.
    Look,
    /// That so many wait; it is answered until they do. With 0 the pool ends.
    Size(u64),
}

/// What a keeper says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// So many wait by now.
    Ready(u64),
    Failed {
        code: String,
        message: String,
        hints: Vec<String>,
        details: Vec<String>,
    },
}

impl Said {
    pub(super) fn failed(fault: &dyn Fault) -> Self {
        Self::Failed {
            code: fault.code().to_string(),
            message: fault.to_string(),
            hints: fault.hints(),
            details: fault.details(),
        }
    }

    /// The number, or the error as it was.
    pub(super) fn into_result(self) -> Result<u64, EngineError> {
        match self {
            Self::Ready(ready) => Ok(ready),
            Self::Failed { code, message, hints, details } => {
                let code = Code::ALL.iter().copied().find(|known| known.as_str() == code);
                Err(EngineError::Reported {
                    code: code.unwrap_or(Code::CreateFailed),
                    message,
                    hints,
                    details,
                })
            }
        }
    }
}

/// Asks a keeper for something; what it answers is read with [`hear`].
pub(super) async fn ask(place: &Place, ask: Ask) -> std::io::Result<BufReader<UnixStream>> {
    let mut stream = abx_client::socket::connect(&place.socket()).await?;
    say(&mut stream, &ask).await?;
    Ok(BufReader::new(stream))
}

/// Says a line.
pub(super) async fn say(stream: &mut UnixStream, words: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(words)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

/// Hears a line.
pub(super) async fn hear<T: for<'de> Deserialize<'de>>(
    stream: &mut BufReader<UnixStream>,
) -> std::io::Result<T> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    Ok(serde_json::from_str(&line)?)
}

/// Has a keeper look whether its template is still what it was. One that does not listen looks by itself.
pub(super) async fn look(place: &Place) {
    let _ = tokio::time::timeout(Duration::from_millis(100), ask(place, Ask::Look)).await;
}
