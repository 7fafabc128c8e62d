//! What can go wrong.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use abx_core::{Code, Fault};
use serde::{Deserialize, Serialize};

/// Why a launch, or a thing around it, failed. It travels as JSON: from the half-made sandbox to its
/// owner, and from a step's helper to whoever asked for the step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum IsolateError {
    #[error("the host lacks {feature}")]
    Lacks { feature: Feature, source: SystemError },
    #[error("{name:?} cannot name a sandbox")]
    Name { name: String },
    #[error("the launching process has {threads} threads; it must have one")]
    Threaded { threads: u64 },
    #[error("cannot {action}")]
    System { action: Cow<'static, str>, source: SystemError },
    #[error("cannot use layer {path}")]
    Layer { path: PathBuf, source: SystemError },
    #[error("cannot mount the root file system{}", kernel_says(.message))]
    Overlay { message: String, source: SystemError },
    #[error("cannot use disk image {path}")]
    Disk { path: PathBuf, source: SystemError },
    #[error("cannot mount {what}")]
    Mount { what: Cow<'static, str>, source: SystemError },
    #[error("cannot bind {origin} at {target}")]
    Bind { origin: PathBuf, target: PathBuf, source: SystemError },
    #[error("cannot lay down {path}")]
    RuntimeFile { path: PathBuf, source: SystemError },
    #[error("{program}: command not found")]
    ProgramNotFound { program: String },
    #[error("{program}: cannot execute")]
    ProgramNotExecutable { program: String, source: SystemError },
    #[error("cannot enter working directory {path}")]
    WorkingDirectory { path: PathBuf, source: SystemError },
    #[error("cannot set {setting} of cgroup {path}")]
    Cgroup { setting: Cow<'static, str>, path: PathBuf, source: SystemError },
    #[error("cannot {action} for the sandbox's network")]
    Network { action: Cow<'static, str>, source: SystemError },
    #[error("cannot listen on {address}")]
    Listen { address: String, source: SystemError },
    #[error("a sandbox that was started without a policy for egress gets none later")]
    NoPolicy,
    #[error("all {capacity} sandbox slots are taken")]
    NoSlot { capacity: u16 },
    #[error("cannot use {path}")]
    File { path: PathBuf, source: SystemError },
    #[error("the launcher ended before it reported")]
    Silent,
    #[error("the launcher's message cannot be read: {message}")]
    Garbled { message: String },
}

/// What a host may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Feature {
    Root,
    Namespaces,
    UserNamespaces,
    Overlay,
    IdmappedMounts,
    LoopDevices,
    Ext4,
    MemoryCgroup,
    CpuCgroup,
    PidsCgroup,
    Cgroups,
    Seccomp,
    Veth,
    NfTables,
    IpForwarding,
    ForwardPolicy,
}

impl Feature {
    /// What to do about it, one sentence.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Root => {
                "run it as root, or with `sudo`; sandboxes are made by root and confined by user namespaces"
            }
            Self::Namespaces => {
                "inside a container, start that container privileged; else use a kernel with CONFIG_NAMESPACES"
            }
            Self::UserNamespaces => "raise the limit: `sysctl -w user.max_user_namespaces=15000`",
            Self::Overlay => "load the module: `modprobe overlay`",
            Self::IdmappedMounts => {
                "use Linux 5.19 or later, and keep ABX_HOME on a file system with idmapped mounts (ext4, xfs, btrfs)"
            }
            Self::LoopDevices => {
                "load the module: `modprobe loop`; inside a container pass /dev/loop-control and /dev/loop*"
            }
            Self::Ext4 => "install mkfs.ext4: `apt-get install e2fsprogs`",
            Self::MemoryCgroup => "boot with `cgroup_enable=memory`, or create without a memory limit",
            Self::CpuCgroup => "mount the cpu controller, or create without a cpu limit",
            Self::PidsCgroup => "mount the pids controller, or create without a pids limit",
            Self::Cgroups => "mount cgroups writable at /sys/fs/cgroup",
            Self::Seccomp => "use a kernel with CONFIG_SECCOMP_FILTER",
            Self::Veth => "load the module: `modprobe veth`, or create with `--network none`",
            Self::NfTables => {
                "load the modules: `modprobe -a nf_tables nft_masq nft_ct`, or create with `--network none`"
            }
            Self::ForwardPolicy => {
                "let them through: `iptables -I FORWARD -i abx+ -j ACCEPT` and \
                 `iptables -I FORWARD -o abx+ -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT`"
            }
            Self::IpForwarding => {
                "allow it: `sysctl -w net.ipv4.ip_forward=1`, or create with `--network none`"
            }
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "root privileges",
            Self::Namespaces => "namespaces",
            Self::UserNamespaces => "user namespaces",
            Self::Overlay => "overlayfs",
            Self::IdmappedMounts => "idmapped mounts",
            Self::LoopDevices => "loop devices",
            Self::Ext4 => "ext4",
            Self::MemoryCgroup => "the memory cgroup controller",
            Self::CpuCgroup => "the cpu cgroup controller",
            Self::PidsCgroup => "the pids cgroup controller",
            Self::Cgroups => "writable cgroups",
            Self::Seccomp => "seccomp filters",
            Self::Veth => "veth interfaces",
            Self::NfTables => "nf_tables",
            Self::IpForwarding => "IP forwarding",
            Self::ForwardPolicy => "a firewall that lets sandboxes out",
        })
    }
}

/// The kernel's answer, as a number that survives a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SystemError {
    /// The errno; 0 where there is none.
    pub errno: i32,
}

impl SystemError {
    pub(crate) fn is(self, errno: rustix::io::Errno) -> bool {
        self.errno == errno.raw_os_error()
    }
}

impl std::error::Error for SystemError {}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&std::io::Error::from_raw_os_error(self.errno), f)
    }
}

impl fmt::Debug for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<rustix::io::Errno> for SystemError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self { errno: errno.raw_os_error() }
    }
}

impl From<std::io::Error> for SystemError {
    fn from(error: std::io::Error) -> Self {
        Self { errno: error.raw_os_error().unwrap_or(0) }
    }
}

/// Makes `map_err` read as what was attempted.
pub(crate) fn system<E: Into<SystemError>>(action: &'static str) -> impl FnOnce(E) -> IsolateError {
    move |error| IsolateError::System { action: action.into(), source: error.into() }
}

/// As [`system`], for a mount.
pub(crate) fn mounting<E: Into<SystemError>>(
    what: impl Into<Cow<'static, str>>,
) -> impl FnOnce(E) -> IsolateError {
    let what = what.into();
    move |error| IsolateError::Mount { what, source: error.into() }
}

fn kernel_says(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" ({message})") }
}

impl Fault for IsolateError {
    fn code(&self) -> Code {
        match self {
            Self::Lacks { .. } => Code::HostLacks,
            Self::ProgramNotFound { .. } | Self::ProgramNotExecutable { .. } => Code::Execution,
            Self::NoSlot { .. } => Code::Quota,
            Self::File { source, .. } | Self::Disk { source, .. } if source.is(rustix::io::Errno::NOSPC) => {
                Code::FileSize
            }
            _ => Code::CreateFailed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Lacks { feature, .. } => {
                vec![feature.hint().to_owned(), "`abx doctor` checks everything sandboxes need".to_owned()]
            }
            Self::Listen { source, .. } if source.is(rustix::io::Errno::ADDRINUSE) => {
                vec!["another process has that port; choose another with `--port HOST:GUEST`".to_owned()]
            }
            Self::Overlay { .. } | Self::Mount { .. } => {
                vec!["`abx doctor` says what this host lacks".to_owned()]
            }
            Self::NoSlot { .. } => vec!["end sandboxes that are not needed: `abx kill`".to_owned()],
            _ => Vec::new(),
        }
    }
}
