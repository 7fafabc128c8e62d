//! Socket files, wherever they lie.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use tokio::net::UnixStream;

/// What the address of a socket file has room for (`sun_path` of unix(7), less the final NUL).
const LONGEST: usize = 107;

/// Connects to a socket file. One whose path is too long for an address is reached through its directory.
///
/// # Errors
/// The system's, for a socket that is not there or that nobody serves.
pub async fn connect(socket: &Path) -> io::Result<UnixStream> {
    if socket.as_os_str().len() <= LONGEST {
        return UnixStream::connect(socket).await;
    }
    let (Some(directory), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let directory = File::open(directory)?;
    UnixStream::connect(Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_deep_down_is_reached() {
        let root = tempfile::tempdir().expect("tempdir");
        let directory = root.path().join("d".repeat(120));
        std::fs::create_dir(&directory).expect("mkdir");
        let short = Path::new("/proc/self/fd");
        let open = File::open(&directory).expect("open");
        let _listener =
            std::os::unix::net::UnixListener::bind(short.join(open.as_raw_fd().to_string()).join("s"))
                .expect("bind");
        assert!(
            UnixStream::connect(directory.join("s")).await.is_err(),
            "the plain way must be the wrong one"
        );
        connect(&directory.join("s")).await.expect("connected");
    }
}
