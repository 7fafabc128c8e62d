//! How a kernel and we find each other: free ports, the file that names them, our connections.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::time::sleep;

use super::message::{Session, random_hex};
use super::zmtp::{Message, Role, Socket};

/// How often a port that is not open yet is tried.
const TRY_AGAIN: Duration = Duration::from_millis(20);
/// How often a kernel that is starting is asked whether it is there.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// The ports of a kernel and the file that tells it; the file goes with this.
#[derive(Debug)]
pub(super) struct Connection {
    shell: u16,
    iopub: u16,
    control: u16,
    key: String,
    directory: PathBuf,
}

/// Our ends.
#[derive(Debug)]
pub(super) struct Sockets {
    pub(super) session: Session,
    pub(super) shell: Socket,
    pub(super) control: Socket,
    pub(super) published: Socket,
}

impl Connection {
    /// Writes the file into a directory that only its owner can look into.
    pub(super) fn new(kernel: &str, env: &BTreeMap<String, String>) -> io::Result<Self> {
        let [shell, iopub, stdin, control, heartbeat] = free_ports()?;
        let key = random_hex();
        let temporary = env.get("TMPDIR").map_or("/tmp", String::as_str);
        let directory = Path::new(temporary).join(format!("abx-kernel-{}", random_hex()));
        std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
        let connection = Self { shell, iopub, control, key, directory };
        let text = json!({
            "transport": "tcp", "ip": "127.0.0.1", "shell_port": shell, "iopub_port": iopub, "stdin_port": stdin,
            "control_port": control, "hb_port": heartbeat, "key": connection.key,
            "signature_scheme": "hmac-sha256", "kernel_name": kernel,
        });
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(connection.file())?;
        file.write_all(text.to_string().as_bytes())?;
        Ok(connection)
    }

    pub(super) fn file(&self) -> PathBuf {
        self.directory.join("connection.json")
    }

    /// Connects, and returns when the kernel answers and what it publishes reaches us.
    pub(super) async fn connect(&self) -> io::Result<Sockets> {
        let mut session = Session::new(self.key.clone());
        let mut published = patiently(self.iopub, Role::Subscriber).await?;
        let mut shell = patiently(self.shell, Role::Dealer).await?;
        let control = patiently(self.control, Role::Dealer).await?;
        // What is published before our subscription has arrived is lost, so one answer is not enough.
        let (mut answered, mut heard) = (false, false);
        while !(answered && heard) {
            let (_, frames) = session.request("kernel_info_request", &json!({}));
            shell.send(&borrowed(&frames)).await?;
            let again = sleep(ASK_AGAIN);
            tokio::pin!(again);
            loop {
                tokio::select! {
                    () = &mut again => break,
                    message = shell.receive() => answered |= is_of(&session, &message?, "kernel_info_reply"),
                    message = published.receive() => heard |= is_of(&session, &message?, "status"),
                }
                if answered && heard {
                    break;
                }
            }
        }
        Ok(Sockets { session, shell, control, published })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Five ports that are free right now. The kernel binds them itself, as the protocol has it.
fn free_ports() -> io::Result<[u16; 5]> {
    let mut listeners = Vec::new();
    let mut ports = [0; 5];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

async fn patiently(port: u16, role: Role) -> io::Result<Socket> {
    loop {
        match Socket::connect(port, role).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => sleep(TRY_AGAIN).await,
            result => return result,
        }
    }
}

fn is_of(session: &Session, message: &Message, kind: &str) -> bool {
    let Message::Frames(frames) = message else { return false };
    session.read(frames).is_some_and(|incoming| incoming.kind == kind)
}

pub(super) fn borrowed(frames: &[Bytes]) -> Vec<&[u8]> {
    frames.iter().map(|frame| &frame[..]).collect()
}
