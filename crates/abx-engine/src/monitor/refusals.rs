//! What the sandbox's policy for the outside refuses, in its log.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{SystemTime, UNIX_EPOCH};

use abx_isolate::Running;
use abx_protocol::boot::LogLine;
use abx_protocol::json::Timestamp;
use rustix::fs::OFlags;

/// Writes a line for each refusal, beside what the daemon inside writes there.
pub(super) fn write_down(running: &Running, log: BorrowedFd<'_>) {
    // Opened anew: the daemon's end waits for room, this one must not.
    let file = File::options()
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(format!("/proc/self/fd/{}", log.as_raw_fd()));
    let Ok(mut file) = file else { return };
    running.on_refusal(move |refusal| {
        let line = LogLine { time: now().to_rfc3339(3), stream: "abx".to_owned(), line: refusal.to_string() };
        if let Ok(mut text) = serde_json::to_vec(&line) {
            text.push(b'\n');
            // In one piece, or not at all where the sandbox prints faster than is read.
            let _ = file.write(&text);
        }
    });
}

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // In milliseconds.
    let nanos = elapsed.subsec_millis().cast_signed() * 1_000_000;
    Timestamp { seconds: elapsed.as_secs().cast_signed(), nanos }
}
