//! What is asked of this monitor over its control socket.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::control::{Answer, Request};

/// A request and where its answer goes.
pub(super) type Asked = (Request, UnixStream);

/// Bytes of a request, which may carry an environment.
const LONGEST: u64 = 4 << 20;

/// Reads one request from each connection. A slow, silent or endless one holds up nobody.
pub(super) async fn serve(control: UnixListener, ask: mpsc::Sender<Asked>) {
    loop {
        let Ok((stream, _)) = control.accept().await else {
            // No descriptor is free; one will be.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let ask = ask.clone();
        tokio::spawn(async move {
            let mut reader = BufReader::new(stream).take(LONGEST);
            let mut line = String::new();
            if timeout(Duration::from_secs(5), reader.read_line(&mut line)).await.is_ok()
                && let Ok(request) = serde_json::from_str(&line)
            {
                let _ = ask.send((request, reader.into_inner().into_inner())).await;
            }
        });
    }
}

/// Returns who wants a sandbox ended that is not ready yet.
pub(super) async fn kill(asked: &mut mpsc::Receiver<Asked>) -> UnixStream {
    while let Some((request, stream)) = asked.recv().await {
        match request {
            Request::Kill => return stream,
            _ => refuse(stream, "it is still starting").await,
        }
    }
    std::future::pending().await
}

pub(super) async fn refuse(stream: UnixStream, reason: &str) {
    answer(stream, &Answer::Error(reason.to_owned())).await;
}

pub(super) async fn answer(mut stream: UnixStream, answer: &Answer) {
    say(&mut stream, answer).await;
}

/// Answers, and keeps the connection.
pub(super) async fn say(stream: &mut UnixStream, answer: &Answer) {
    if let Ok(mut line) = serde_json::to_vec(answer) {
        line.push(b'\n');
        // The asker may be gone; what it asked for is done all the same.
        let _ = timeout(Duration::from_secs(1), stream.write_all(&line)).await;
    }
}

/// Returns when the other side has gone; never where there is none.
pub(super) async fn let_go(stream: Option<&mut UnixStream>) {
    let Some(stream) = stream else { return std::future::pending().await };
    let mut ignored = [0; 64];
    while stream.read(&mut ignored).await.is_ok_and(|length| length > 0) {}
}
