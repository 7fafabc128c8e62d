//! A sandbox without walls: the daemon as an ordinary process of this machine, and the state that a live sandbox
//! has. It needs no root, no image and no network, and everything of the command line meets it as it would meet
//! a real one.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use abx_core::fs::Lock;
use abx_engine::{Health, PortMapping, Record, SandboxId, SandboxSettings, State};
use rustix::io::{FdFlags, fcntl_setfd};

use super::Abx;

/// Lives until dropped; must be dropped by the thread that made it.
pub(crate) struct Sandbox {
    pub(crate) id: String,
    dir: PathBuf,
    control: Option<UnixStream>,
    daemon: Child,
    _lock: Lock,
}

impl Sandbox {
    /// A sandbox named `web` in this home; `None`, with a word on stderr, where the daemon is not built.
    pub(crate) fn start(abx: &Abx) -> Option<Self> {
        let program = Path::new(env!("CARGO_BIN_EXE_abx")).with_file_name("abx-guest");
        if !program.exists() {
            super::skip(&format!("{} is not built", program.display()));
            return None;
        }
        let id = SandboxId::random().expect("id");
        let dir = abx.home().join("state/sandboxes").join(id.as_str());
        let workdir = abx.home().join("work");
        std::fs::create_dir_all(&dir).expect("state");
        std::fs::create_dir_all(&workdir).expect("workdir");
        let lock = Lock::exclusive(&dir.join("lock")).expect("lock");
        let user = rustix::process::getuid().as_raw().to_string();
        let (control, daemon) = start_daemon(&program, &dir, &workdir, &user);
        record(&id, &workdir, &user).write(&dir).expect("record");
        Some(Self { id: id.to_string(), dir, control: Some(control), daemon, _lock: lock })
    }

    /// The directory of its state.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // The daemon ends when its host lets go, and with it what it has started.
        self.control = None;
        let _ = self.daemon.wait();
    }
}

fn record(id: &SandboxId, workdir: &Path, user: &str) -> Record {
    let settings = SandboxSettings {
        name: Some("web".into()),
        template: "base:1.0.0".into(),
        layers: Vec::new(),
        image: "sha256:0123".into(),
        env: Vec::new(),
        user: user.into(),
        workdir: workdir.display().to_string(),
        shell: "/bin/sh".into(),
        persistent: false,
        cpu: 1.0,
        memory: 2048,
        disk: 10240,
        pids: 2048,
        timeout: 600,
        idle_timeout: 0,
        pause_on_timeout: false,
        unhealthy_timeout: 0,
        ports: Vec::new(),
        public: false,
        egress: None,
        network: true,
        capabilities: vec!["shell".into(), "files".into()],
        capability_origin: Some("./web/template.yaml:7:1".into()),
        startup_command: None,
        readiness: None,
        healthcheck: None,
        binds: Vec::new(),
        files: Vec::new(),
        loopback: Vec::new(),
    };
    let now = abx_engine::record::now();
    Record {
        id: id.clone(),
        settings,
        created: now - 125,
        ends: Some(now + 475),
        state: State::Running,
        health: Health::None,
        ports: vec![PortMapping { guest: 80, host: SocketAddr::from(([127, 0, 0, 1], 8080)) }],
        monitor: std::process::id(),
        init: 0,
        kept: false,
        stopped: None,
        ids: None,
        boot: String::new(),
        pooled: false,
    }
}

fn start_daemon(program: &Path, dir: &Path, workdir: &Path, user: &str) -> (UnixStream, Child) {
    let config = serde_json::json!({
        "sandbox_id": "test", "user": user, "workdir": workdir, "shell": "/bin/sh",
        "env": [["FROM_TEMPLATE", "yes"]],
    });
    let mut config_file = tempfile::tempfile().expect("tempfile");
    config_file.write_all(config.to_string().as_bytes()).expect("write");
    config_file.rewind().expect("rewind");
    let listener = UnixListener::bind(dir.join("guest.sock")).expect("bind");
    let (ours, theirs) = UnixStream::pair().expect("socket pair");
    let log = File::create(dir.join("log.jsonl")).expect("log");
    let inherited: [(&str, OwnedFd); 4] = [
        ("ABX_LISTEN_FD", listener.into()),
        ("ABX_CONTROL_FD", theirs.into()),
        ("ABX_CONFIG_FD", config_file.into()),
        ("ABX_LOG_FD", log.into()),
    ];
    let mut command = Command::new(program);
    for (name, descriptor) in &inherited {
        command.env(name, descriptor.as_raw_fd().to_string());
    }
    let descriptors = inherited.map(|(_, descriptor)| descriptor);
    // SAFETY: only system calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            for descriptor in &descriptors {
                fcntl_setfd(descriptor.as_fd(), FdFlags::empty())?;
            }
            Ok(())
        })
    };
    let daemon = command.spawn().expect("the daemon starts");
    // Our copies of what it inherited.
    drop(command);
    let mut ready = [0; 6];
    (&ours).read_exact(&mut ready).expect("the daemon says that it serves");
    (ours, daemon)
}
