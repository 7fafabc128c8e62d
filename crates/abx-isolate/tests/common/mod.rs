//! A root file system made of the host's own programs, and launches in it.
//!
//! The test program itself is the helper of `spawn_step` and a program inside (`/bin/probe`): a hook that runs
//! before `main` looks at the first argument, so that neither ever starts the test harness's threads.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod probe;

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use abx_isolate::{
    Extras, Ids, IsolateError, Launch, Limits, Network, Process, Relays, Root, StepChild, StepEnd, Streams,
    Upper,
};
use tempfile::TempDir;

/// The first host id of the sandboxes made here.
pub(crate) const BASE: u32 = 0x7000_0000;

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    let arguments: Vec<String> = std::env::args().collect();
    let status = match arguments.get(1).map(String::as_str) {
        Some(abx_isolate::HELPER) => {
            replace_resolv_conf();
            abx_isolate::run_helper()
        }
        Some("probe") => probe::run(&arguments[2..]),
        _ => return,
    };
    #[expect(clippy::exit, reason = "the harness must not start")]
    std::process::exit(status.into());
}

/// Names the file that stands in for the host's resolv.conf, in the helper's own mount namespace.
pub(crate) const RESOLV_CONF: &str = "ABX_TEST_RESOLV_CONF";

fn replace_resolv_conf() {
    use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
    let Some(path) = std::env::var_os(RESOLV_CONF) else { return };
    // SAFETY: no thread runs yet, and descriptors stay shared.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }.expect("unshare");
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).expect("private");
    mount_bind(path, "/etc/resolv.conf").expect("bind");
}

/// Whether the test can run here; says so where not.
pub(crate) fn can_launch() -> bool {
    let lacking: Vec<_> = abx_isolate::host_report().into_iter().filter(|check| !check.ok).collect();
    for check in &lacking {
        say(&format!("skipped: the host lacks {}: {}", check.feature, check.detail));
    }
    lacking.is_empty()
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

/// A layer with a shell and a few programs, and room for what launches write.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { directory: tempfile::tempdir().expect("tempdir") };
        let layer = place.path("layer");
        for path in ["bin", "etc", "tmp", "root", "proc", "sys", "dev", "run"] {
            std::fs::create_dir_all(layer.join(path)).expect("layer");
        }
        std::fs::set_permissions(layer.join("tmp"), PermissionsExt::from_mode(0o1777)).expect("chmod");
        for name in ["sh", "cat", "ls", "mount", "dd", "chown", "mkdir", "rm", "mv"] {
            add_program(&layer, &Path::new("/bin").join(name), Path::new(name));
        }
        for name in ["id", "stat"] {
            add_program(&layer, &Path::new("/usr/bin").join(name), Path::new(name));
        }
        add_program(&layer, &std::env::current_exe().expect("exe"), Path::new("probe"));
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `sh -c script` in a fresh upper directory.
    pub(crate) fn launch(&self, name: &str, script: &str) -> Launch {
        let name = unique(name);
        let (upper, work) = (self.path(&format!("{name}.upper")), self.path(&format!("{name}.work")));
        std::fs::create_dir_all(&upper).expect("upper");
        std::fs::create_dir_all(&work).expect("work");
        Launch {
            name,
            hostname: "box".to_owned(),
            root: Root {
                layers: vec![self.path("layer")],
                upper: Upper::Dir { upper, work, volatile: true },
            },
            ids: Ids::Range { base: BASE },
            binds: Vec::new(),
            files: Vec::new(),
            extras: Extras::default(),
            limits: Limits::default(),
            network: Network::None,
            process: Process {
                argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
                program: None,
                env: vec![("PATH".to_owned(), "/bin".to_owned()), ("HOME".to_owned(), "/root".to_owned())],
                cwd: "/".into(),
                uid: 0,
                gid: 0,
                groups: Vec::new(),
                is_init: false,
                no_new_privs: false,
                fds: Vec::new(),
            },
        }
    }

    /// A disk image with an ext4 file system of `megabytes`.
    pub(crate) fn disk(&self, megabytes: u64) -> PathBuf {
        let path = self.path("disk.img");
        let file = std::fs::File::create(&path).expect("image");
        file.set_len(megabytes * 1024 * 1024).expect("size");
        let made = Command::new("/sbin/mkfs.ext4").args(["-q", "-m", "0"]).arg(&path).status().expect("mkfs");
        assert!(made.success());
        path
    }
}

/// The upper directory of a launch.
pub(crate) fn upper(launch: &Launch) -> &Path {
    match &launch.root.upper {
        Upper::Dir { upper, .. } => upper,
        Upper::Disk(disk) => &disk.image,
    }
}

/// Unique on the host, in the first twelve letters too.
pub(crate) fn unique(name: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("t{:06x}{:05x}-{name}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A slot far from those that are handed out from 0 on.
pub(crate) fn slot() -> u16 {
    use std::sync::atomic::{AtomicU16, Ordering};
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let of_process = (std::process::id() % 900) as u16;
    7000 + of_process * 10 + NEXT.fetch_add(1, Ordering::Relaxed) % 10
}

fn add_program(layer: &Path, program: &Path, name: &Path) {
    copy(program, &layer.join("bin").join(name));
    let listed = Command::new("ldd").arg(program).output().expect("ldd").stdout;
    let listed = String::from_utf8(listed).expect("text");
    for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
        copy(Path::new(library), &layer.join(&library[1..]));
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().expect("parent")).expect("directories");
    if !to.exists() {
        let from = from.canonicalize().expect("a program of the host");
        copy_program(&from, to);
    }
}

/// Copies a file that is to be executed. Another process writes it: a descriptor of ours would be shared with whatever
/// other tests fork at that moment, and a file that is open for writing cannot be executed.
pub(crate) fn copy_program(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().expect("cp");
    assert!(status.success(), "cannot copy {}", from.display());
}

/// Writes a file that is to be executed, as [`copy_program`] does.
pub(crate) fn write_program(to: &Path, text: &str) {
    let write = r#"printf %s "$1" > "$0" && chmod 755 "$0""#;
    let status = Command::new("sh").arg("-c").arg(write).arg(to).arg(text).status().expect("sh");
    assert!(status.success(), "cannot write {}", to.display());
}

/// How it ended, and what it said on stdout and stderr.
pub(crate) fn run(launch: &Launch) -> (StepEnd, String) {
    let (end, output) = attempt(launch, &Relays::default());
    (end.unwrap_or_else(|error| panic!("{error}: {error:?}")), output)
}

pub(crate) fn attempt(launch: &Launch, relays: &Relays) -> (Result<StepEnd, IsolateError>, String) {
    let (mut child, mut output) = start(launch, relays);
    let _ = child.take_stdin();
    let mut text = String::new();
    output.read_to_string(&mut text).expect("output");
    (child.wait(), text)
}

/// Runs with stdin piped; the second is stdout and stderr in one.
pub(crate) fn start(launch: &Launch, relays: &Relays) -> (StepChild, std::io::PipeReader) {
    let (reader, writer) = std::io::pipe().expect("pipe");
    let also = writer.try_clone().expect("pipe");
    let streams = Streams { stdin: Stdio::piped(), stdout: writer.into(), stderr: also.into() };
    let exe = std::env::current_exe().expect("exe");
    (abx_isolate::spawn_step(&exe, launch, relays, streams).expect("helper"), reader)
}

/// Nothing of the launch is left on the host.
pub(crate) fn assert_clean(launch: &Launch) {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    assert!(!mounts.contains("/proc/layers"), "mounts leaked: {mounts}");
    let left = abx_isolate::leftovers(&[]).expect("leftovers");
    let mine = |leftover: &&abx_isolate::Leftover| leftover.to_string().contains(&launch.name[..12]);
    assert_eq!(left.iter().find(mine), None);
    if let Upper::Disk(abx_isolate::Disk { image, .. }) = &launch.root.upper {
        assert!(!loop_backing_files().contains(&image.display().to_string()), "a loop device is left");
    }
}

fn loop_backing_files() -> Vec<String> {
    let Ok(devices) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    let file =
        |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("loop/backing_file")).ok();
    devices.flatten().filter_map(file).map(|path| path.trim().to_owned()).collect()
}
