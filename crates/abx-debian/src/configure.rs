//! The packages' own scripts, run inside the new root.

use std::io::{BufRead, BufReader, PipeReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};

use abx_core::Progress;
use abx_core::progress::{self, Unit};
use abx_isolate::{
    Extras, Ids, IsolateError, Launch, Limits, Network, Process, Relays, Root, RuntimeFile, StepChild,
    StepEnd, Stopper, Streams, Upper, spawn_step,
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::database::info_name;
use crate::deb822;
use crate::error::DebianError;
use crate::unpack::Unpacked;

/// Lines of output shown where configuring fails.
const SHOWN_LINES: usize = 20;

/// What dpkg says of every package; a package may say more.
const STEP: &str = "Setting up ";

/// Moves configuration files and links that older versions of a package left. In a new root there are none,
/// so while it is made a stand-in that does nothing saves a process tree per call.
const MAINTSCRIPT_HELPER: &str = "/usr/bin/dpkg-maintscript-helper";
const STAND_IN: &str = "#!/bin/sh\nexit 0\n";

/// A root whose packages are unpacked and recorded.
pub(crate) struct Unconfigured<'a> {
    pub(crate) root: PathBuf,
    /// An empty directory on the same file system.
    pub(crate) work: PathBuf,
    pub(crate) packages: &'a [Unpacked],
    /// For people, in errors.
    pub(crate) release: String,
    /// What the scripts take for the present, seconds since 1970.
    pub(crate) date: u64,
    /// See [`crate::BootstrapSettings::helper`].
    pub(crate) helper: &'a Path,
}

/// Runs the scripts of the packages: `preinst` where there is one worth running, then one `dpkg --configure`
/// for all, which knows the order.
///
/// They run without network in namespaces of their own, on an overlay whose upper directory is the root
/// itself and which skips every sync.
pub(crate) async fn configure(
    unconfigured: &Unconfigured<'_>,
    progress: &dyn Progress,
) -> Result<(), DebianError> {
    let launch = launch(unconfigured)?;
    let total = unconfigured.packages.len() as u64;
    let task = progress::start(progress, "configure", Some(total), Unit::Items);
    let (child, output) = spawn(unconfigured.helper, &launch)?;
    let _stop_where_dropped = StopOnDrop(child.stopper()?);
    let (sender, mut lines) = unbounded_channel();
    let running = tokio::task::spawn_blocking(move || run(child, output, &sender));
    let mut log = Vec::new();
    while let Some(line) = lines.recv().await {
        task.advance(u64::from(line.starts_with(STEP)));
        task.output(line.as_str());
        log.push(line);
    }
    let end = match running.await {
        Ok(end) => end?,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    };
    let status = match end {
        StepEnd::Exited(0) => return Ok(()),
        StepEnd::Exited(status) => Some(i32::from(status)),
        StepEnd::Signaled(_) | StepEnd::OutOfMemory { .. } => None,
    };
    let log = log.split_off(log.len().saturating_sub(SHOWN_LINES));
    Err(DebianError::Configure { release: unconfigured.release.clone(), status, log })
}

/// Ends the scripts where nobody waits for them any more.
struct StopOnDrop(Stopper);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Both output streams share one pipe, so that their lines stay in order.
fn spawn(helper: &Path, launch: &Launch) -> Result<(StepChild, PipeReader), DebianError> {
    let pipe = || DebianError::file("make a pipe for", helper);
    let (reader, writer) = std::io::pipe().map_err(pipe())?;
    let stderr = writer.try_clone().map_err(pipe())?;
    let streams = Streams { stdin: Stdio::null(), stdout: Stdio::from(writer), stderr: Stdio::from(stderr) };
    Ok((spawn_step(helper, launch, &Relays::default(), streams)?, reader))
}

fn run(
    child: StepChild,
    output: PipeReader,
    lines: &UnboundedSender<String>,
) -> Result<StepEnd, IsolateError> {
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        // Nobody listens any more when the future was dropped; the step is being stopped then.
        let _ = lines.send(String::from_utf8_lossy(&line).into_owned());
    }
    child.wait()
}

fn launch(unconfigured: &Unconfigured<'_>) -> Result<Launch, DebianError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // An overlay wants a lower layer.
    let nothing = unconfigured.work.with_file_name("nothing");
    std::fs::create_dir_all(&nothing).map_err(DebianError::file("make", &nothing))?;
    Ok(Launch {
        name: format!("step{}-debian{number}", std::process::id()),
        hostname: "localhost".to_owned(),
        root: Root {
            layers: vec![nothing],
            upper: Upper::Dir {
                upper: unconfigured.root.clone(),
                work: unconfigured.work.clone(),
                volatile: true,
            },
        },
        ids: Ids::Identity,
        binds: Vec::new(),
        files: vec![RuntimeFile {
            path: PathBuf::from(MAINTSCRIPT_HELPER),
            content: STAND_IN.to_owned(),
            mode: 0o755,
        }],
        extras: Extras::default(),
        limits: Limits::default(),
        network: Network::None,
        process: Process {
            argv: ["/bin/sh", "-c", &script(unconfigured.packages)].map(str::to_owned).to_vec(),
            program: None,
            env: environment(unconfigured.date),
            cwd: PathBuf::from("/"),
            uid: 0,
            gid: 0,
            groups: Vec::new(),
            is_init: false,
            no_new_privs: true,
            fds: Vec::new(),
        },
    })
}

fn environment(date: u64) -> Vec<(String, String)> {
    [
        ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        ("HOME", "/root"),
        ("LC_ALL", "C"),
        ("TZ", "UTC"),
        ("DEBIAN_FRONTEND", "noninteractive"),
        ("DEBCONF_NONINTERACTIVE_SEEN", "true"),
        ("SOURCE_DATE_EPOCH", &date.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// A shell script that brings unpacked packages to be installed.
fn script(packages: &[Unpacked]) -> String {
    let mut script = String::from("set -e\n");
    let preinst: Vec<_> = packages.iter().filter(|package| has_preinst(package)).collect();
    if !preinst.is_empty() {
        // Where dpkg runs it, too: debconf learns from the control file there whose questions are asked.
        script.push_str("mkdir /var/lib/dpkg/tmp.ci\ncd /var/lib/dpkg/tmp.ci\n");
        preinst.iter().for_each(|package| script.push_str(&preinst_lines(package)));
        script.push_str("cd /\nrm -r /var/lib/dpkg/tmp.ci\n");
    }
    // Where no script made the user database, its master copy is the first one.
    for name in ["passwd", "group"] {
        script.push_str(&format!(
            "[ -e /etc/{name} ] || [ ! -e /usr/share/base-passwd/{name}.master ] || \
             cp /usr/share/base-passwd/{name}.master /etc/{name}\n"
        ));
    }
    script.push_str("exec dpkg --configure --pending --force-unsafe-io\n");
    script
}

/// Names and architectures hold nothing a shell would take for its own: the index and the unpacker have
/// checked the one, the other is quoted.
fn preinst_lines(package: &Unpacked) -> String {
    let name = &package.name;
    let architecture = deb822::field(&package.control, "Architecture").unwrap_or("all").replace('\'', "");
    let info = format!("/var/lib/dpkg/info/{}", info_name(package).replace('\'', ""));
    let templates = match package.control_files.iter().any(|file| file.name == "templates") {
        true => format!("cp '{info}.templates' templates\n"),
        false => "rm -f templates\n".to_owned(),
    };
    format!(
        "{templates}cp '{info}.preinst' preinst\necho 'Package: {name}' >control\n\
         DPKG_ROOT= DPKG_ADMINDIR=/var/lib/dpkg DPKG_MAINTSCRIPT_NAME=preinst \
         DPKG_MAINTSCRIPT_PACKAGE={name} DPKG_MAINTSCRIPT_ARCH='{architecture}' \
         DPKG_MAINTSCRIPT_PACKAGE_REFCOUNT=1 /var/lib/dpkg/tmp.ci/preinst install\n"
    )
}

/// Whether a package has a `preinst` that does more than call the helper, which does nothing here.
fn has_preinst(package: &Unpacked) -> bool {
    let preinst = package.control_files.iter().filter(|file| file.name == "preinst");
    preinst.flat_map(|file| file.content.split(|byte| *byte == b'\n')).any(|line| {
        let line = line.trim_ascii();
        !(line.is_empty()
            || line.starts_with(b"#")
            || line == b"set -e"
            || line.starts_with(b"dpkg-maintscript-helper "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unpack::ControlFile;

    fn package(name: &str, preinst: &str) -> Unpacked {
        Unpacked {
            name: name.to_owned(),
            control: format!("Package: {name}\nArchitecture: amd64\nMulti-Arch: same"),
            control_files: vec![ControlFile {
                name: "preinst".into(),
                content: preinst.into(),
                executable: true,
            }],
            paths: Vec::new(),
            conffiles: Vec::new(),
            directories: Vec::new(),
        }
    }

    #[test]
    fn only_a_preinst_that_does_something_runs() {
        let helper_only = "#!/bin/sh\nset -e\n# Automatically added\n\
                           dpkg-maintscript-helper rm_conffile /etc/x 1~ -- \"$@\"\n";
        let script = script(&[package("quiet", helper_only), package("loud", "#!/bin/sh\necho hello\n")]);
        assert!(!script.contains("quiet"), "{script}");
        assert!(script.contains("cp '/var/lib/dpkg/info/loud:amd64.preinst' preinst\n"), "{script}");
        assert!(script.ends_with("exec dpkg --configure --pending --force-unsafe-io\n"), "{script}");
    }
}
