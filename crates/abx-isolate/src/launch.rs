//! What to launch, as data.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One isolated process tree: everything the launcher needs to know, and nothing of images or templates.
///
/// It travels as JSON to the single-threaded process that launches it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Unique on this host; names the cgroups (`abx/<name>`) and the interface (`abx<first 12 letters>`).
    pub name: String,
    pub hostname: String,
    pub root: Root,
    pub ids: Ids,
    /// Host files and directories bound into the root, in order.
    pub binds: Vec<Bind>,
    /// Small files that exist only while it runs (`/etc/resolv.conf`, …): laid down in a tmpfs and bound
    /// read-only at their path; where the root has nothing there an empty file is made to bind over. Paths
    /// below `/run` (a fresh tmpfs) are simply written there and leave no trace.
    pub files: Vec<RuntimeFile>,
    #[serde(default)]
    pub extras: Extras,
    pub limits: Limits,
    pub network: Network,
    pub process: Process,
}

/// The root file system: read-only layers under one writable one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Root {
    /// Directories of image layers, bottom first; at least one. Ids on disk are the image's own (0…65535).
    pub layers: Vec<PathBuf>,
    pub upper: Upper,
}

/// Where writes go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Upper {
    /// A directory of the host, with a work directory on the same file system. For build steps, whose upper
    /// becomes a layer. `volatile` skips every sync.
    Dir { upper: PathBuf, work: PathBuf, volatile: bool },
    /// A file with an ext4 file system, attached to a loop device that detaches itself; its size is the disk limit.
    Disk(Disk),
}

/// A writable layer that is a file system in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    pub image: PathBuf,
    /// Whether it must outlive the host's power: what is synced inside waits for the host's disk.
    pub durable: bool,
    /// The host ids that its files carry, where it was used with others than [`Launch::ids`].
    pub ids: Option<Ids>,
}

impl Disk {
    /// A fresh disk that ends with its sandbox.
    pub fn new(image: impl Into<PathBuf>) -> Self {
        Self { image: image.into(), durable: false, ids: None }
    }
}

/// How ids inside map to ids on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ids {
    /// 0…65535 map to themselves in a user namespace of its own: for build steps, so that what they write
    /// is on disk with the image's ids. Capabilities still end at the namespace.
    Identity,
    /// 0…65535 map to `base`…; layers are seen through idmapped mounts.
    Range { base: u32 },
}

/// A bind mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    pub source: PathBuf,
    /// Absolute, inside the root; resolved without leaving it; made where absent only below `/run` and, in a step of
    /// a Dockerfile, below what has been mounted before it.
    pub target: PathBuf,
    pub read_only: bool,
    /// Leave it out, instead of failing, where the root has nothing at `target`.
    pub optional: bool,
}

/// A file that exists only at run time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeFile {
    pub path: PathBuf,
    pub content: String,
    pub mode: u32,
}

/// What only steps of Dockerfiles ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extras {
    /// The directory that is a fresh tmpfs in place of `/run`, which then is the root's own.
    pub fleeting: Option<PathBuf>,
    /// In the order they are mounted, between the binds.
    pub memory: Vec<Memory>,
    /// Laid down last, as [`Launch::files`] are.
    pub secrets: Vec<SecretFile>,
}

/// An empty file system in memory, for everybody to write to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pub target: PathBuf,
    /// Bytes; `None` for the kernel's default, half of all memory.
    pub size: Option<u64>,
    /// How many of [`Launch::binds`] are mounted before it.
    pub after: usize,
}

/// A file that exists only at run time, with an owner, whose content nobody prints.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretFile {
    pub path: PathBuf,
    pub content: Vec<u8>,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
}

impl Launch {
    /// The directory that is a fresh tmpfs.
    pub(crate) fn fleeting(&self) -> &Path {
        self.extras.fleeting.as_deref().unwrap_or(Path::new("/run"))
    }
}

impl std::fmt::Debug for SecretFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretFile({}, ****)", self.path.display())
    }
}

/// Limits that hold for the whole tree; `None` leaves that resource alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Cores.
    pub cpu: Option<f64>,
    /// MB.
    pub memory: Option<u64>,
    pub pids: Option<u64>,
}

/// What the process can reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// Its own loopback only.
    None,
    /// The outside through a veth pair and address translation; the host's loopback stays out of reach.
    /// `slot` picks the address pair and is unique among what runs.
    Veth { slot: u16 },
}

/// The first process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// `argv[0]` is looked up inside the root through PATH, unless `program` is given.
    pub argv: Vec<String>,
    /// A host file to execute instead (statically linked; it need not exist inside the root).
    pub program: Option<PathBuf>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    /// `true`: the program is process 1 itself. `false`: a tiny init of ours is process 1, reaps, and ends
    /// with the program's status.
    pub is_init: bool,
    /// `no_new_privs`; sudo does not work with it.
    pub no_new_privs: bool,
    /// Descriptors of the launching process to hand over: (number here, number inside). 0, 1 and 2 are
    /// inherited where not listed.
    pub fds: Vec<(i32, i32)>,
}
