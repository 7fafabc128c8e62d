//! From settings to what is launched: the daemon as process 1, its descriptors, the files that exist only at
//! run time.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use abx_isolate::{Disk, Extras, Launch, Limits, Network, Process, Relays, Root, RuntimeFile, Slot, Upper};
use abx_protocol::boot::{self, BootConfig, MetricLimits, StartupCommand};
use rustix::fs::{MemfdFlags, memfd_create};

use super::inherited::Inherited;
use super::log::Log;
use crate::{EngineError, SandboxSettings, disk, guest_program, python_library};

/// Numbers of the daemon's descriptors inside.
const STDIN: i32 = 0;
const STDERR: i32 = 2;
const LISTEN: i32 = 3;
const CONTROL: i32 = 4;
const CONFIG: i32 = 5;
const LOG: i32 = 6;

/// Which of what is handed over is the log's end.
const LOG_HANDED: usize = 3;

/// What is launched, and our ends of what it talks to.
pub(super) struct Plan {
    pub launch: Launch,
    pub relays: Relays,
    /// Where others reach this monitor.
    pub control: UnixListener,
    /// Our end of the daemon's control socket.
    pub guest: UnixStream,
    pub log: Log,
    /// The descriptors that `launch` names; they must outlive the launch.
    _handed: Vec<OwnedFd>,
}

impl Plan {
    pub(super) fn new(inherited: &Inherited, slot: &Slot) -> Result<Self, EngineError> {
        let Inherited { home, dir, id, settings, .. } = inherited;
        let disk = Disk {
            image: dir.join("disk.ext4"),
            durable: settings.persistent,
            ids: inherited.before.as_ref().and_then(|before| before.ids),
        };
        if inherited.before.is_none() {
            disk::create(home, settings.disk, settings.persistent, &disk.image)?;
        }
        // Relative names: a socket's path may have 107 bytes only, wherever the home is.
        std::env::set_current_dir(dir).map_err(EngineError::state(dir))?;
        let listen = UnixListener::bind("guest.sock").map_err(EngineError::state(dir))?;
        let control = UnixListener::bind("control.sock").map_err(EngineError::state(dir))?;
        let (guest, guest_end) = UnixStream::pair().map_err(EngineError::state(dir))?;
        let config = boot_config(id.as_str(), settings).map_err(EngineError::state(dir))?;
        let (log, log_end) = Log::new(Path::new("log.jsonl")).map_err(EngineError::state(dir))?;
        // None of ours: they hold the request, and a file of the host.
        let nothing = File::open("/dev/null").map_err(EngineError::state("/dev/null"))?;
        let program = guest_program::installed(home).map_err(EngineError::state(home.store("tools")))?;
        let handed: Vec<OwnedFd> =
            vec![listen.into(), guest_end.into(), config.into(), log_end, nothing.into()];
        let [listen, guest_end, config, log_end, nothing] =
            std::array::from_fn(|index| handed[index].as_raw_fd());
        let fds = vec![
            (nothing, STDIN),
            (log_end, STDERR),
            (listen, LISTEN),
            (guest_end, CONTROL),
            (config, CONFIG),
            (log_end, LOG),
        ];
        let mut binds = settings.binds.clone();
        binds.push(python_library::bind(home).map_err(EngineError::state(home.store("tools")))?);
        let launch = Launch {
            name: id.to_string(),
            hostname: hostname(id.as_str(), settings),
            root: Root { layers: settings.layers.clone(), upper: Upper::Disk(disk) },
            ids: slot.ids(),
            binds,
            files: runtime_files(id.as_str(), settings),
            extras: Extras::default(),
            limits: Limits {
                cpu: Some(settings.cpu),
                memory: Some(settings.memory),
                pids: Some(settings.pids),
            },
            network: if settings.network { Network::Veth { slot: slot.number() } } else { Network::None },
            process: Process {
                argv: vec!["abx-guest".into()],
                program: Some(program),
                env: descriptor_env(),
                cwd: PathBuf::from("/"),
                uid: 0,
                gid: 0,
                groups: Vec::new(),
                is_init: true,
                no_new_privs: false,
                fds,
            },
        };
        Ok(Self { launch, relays: relays(settings), control, guest, log, _handed: handed })
    }
}

impl Plan {
    /// The end of the log that lines are written to.
    pub(super) fn log_end(&self) -> BorrowedFd<'_> {
        self._handed[LOG_HANDED].as_fd()
    }
}

fn descriptor_env() -> Vec<(String, String)> {
    [(boot::LISTEN_FD, LISTEN), (boot::CONTROL_FD, CONTROL), (boot::CONFIG_FD, CONFIG), (boot::LOG_FD, LOG)]
        .map(|(name, fd)| (name.to_owned(), fd.to_string()))
        .into()
}

/// The daemon's configuration in a memory file: it holds the caller's environment, which no argument list and
/// no file on disk should.
fn boot_config(id: &str, settings: &SandboxSettings) -> std::io::Result<File> {
    let config = BootConfig {
        sandbox_id: id.to_owned(),
        template: settings.template.clone(),
        hostname: hostname(id, settings),
        env: settings.env.clone(),
        user: settings.user.clone(),
        workdir: settings.workdir.clone(),
        shell: settings.shell.clone(),
        capabilities: settings.capabilities.clone(),
        startup_command: settings.startup_command.clone().map(|command| StartupCommand { command }),
        access_token: None,
        limits: Some(MetricLimits { cpu: settings.cpu, memory_mb: settings.memory }),
        ..BootConfig::default()
    };
    let mut file = File::from(memfd_create("abx-boot", MemfdFlags::CLOEXEC)?);
    file.write_all(&serde_json::to_vec(&config)?)?;
    file.rewind()?;
    Ok(file)
}

/// The sandbox's name where it has one that may be a host name, else the first letters of its id.
pub(super) fn hostname(id: &str, settings: &SandboxSettings) -> String {
    let fits = |name: &&String| name.chars().all(|char| char.is_ascii_alphanumeric() || char == '-');
    settings.name.as_ref().filter(fits).cloned().unwrap_or_else(|| id[..12].to_owned())
}

fn runtime_files(id: &str, settings: &SandboxSettings) -> Vec<RuntimeFile> {
    let mut files = settings.files.clone();
    files.extend(hostname_files(&hostname(id, settings)));
    if settings.network {
        let of_host = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        files.push(runtime_file("/etc/resolv.conf", abx_isolate::resolv_conf(&of_host)));
    }
    files
}

/// The files that tell a sandbox its name.
pub(super) fn hostname_files(name: &str) -> [RuntimeFile; 2] {
    let hosts = format!("127.0.0.1\tlocalhost {name}\n::1\tlocalhost ip6-localhost ip6-loopback\n");
    [runtime_file("/etc/hostname", format!("{name}\n")), runtime_file("/etc/hosts", hosts)]
}

fn runtime_file(path: &str, content: String) -> RuntimeFile {
    RuntimeFile { path: PathBuf::from(path), content, mode: 0o644 }
}

/// What passes between the sandbox's network and the host's.
fn relays(settings: &SandboxSettings) -> Relays {
    Relays {
        dns: settings.network,
        ports: settings.ports.iter().map(|port| super::ports::listen(settings, port)).collect(),
        loopback: if settings.network { settings.loopback.clone() } else { Vec::new() },
        egress: settings.egress.clone().filter(|_| settings.network),
    }
}
