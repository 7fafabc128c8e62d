//! The packages' own scripts, run inside the new root.

use std::path::{Path, PathBuf};

use crate::database::info_name;
use crate::error::DebianError;
use crate::unpack::Unpacked;

/// Lines of output shown where configuring fails.
const SHOWN_LINES: usize = 20;

/// Moves configuration files and links that older versions of a package left. In a new root there are none,
/// so while it is made a stand-in that does nothing saves a process tree per call.
const HELPER: &str = "/usr/bin/dpkg-maintscript-helper";
const HELPER_STAND_IN: &str = "#!/bin/sh\nexit 0\n";

/// The root to configure.
pub(crate) struct Unconfigured<'a> {
    pub(crate) root: PathBuf,
    pub(crate) work: PathBuf,
    pub(crate) packages: &'a [Unpacked],
    /// For people, in errors.
    pub(crate) release: String,
    /// What the scripts take for the present, seconds since 1970.
    pub(crate) date: u64,
    pub(crate) helper: &'a Path,
}

/// Runs the scripts of the packages: `preinst` where there is one worth running, then one `dpkg --configure`
/// for all, which knows the order.
pub(crate) async fn configure(
    unconfigured: &Unconfigured<'_>,
    progress: &dyn abx_core::Progress,
) -> Result<(), DebianError> {
    let task = abx_core::progress::start(progress, "configure", None, abx_core::progress::Unit::Items);
    let script = script(unconfigured.packages);
    let root = unconfigured.root.clone();
    let mut command = tokio::process::Command::new("unshare");
    command
        .args(["-m", "-p", "-f", "--propagation", "private", "sh", "-c"])
        .arg(format!(
            "mount --rbind /dev {0}/dev && mount -t proc proc {0}/proc && exec chroot {0} /bin/sh -e -c \"$1\"",
            root.display()
        ))
        .args(["sh", &script])
        .env_clear()
        .envs(environment(unconfigured.date));
    let output = command.output().await.map_err(DebianError::file("run", Path::new("unshare")))?;
    let text = [output.stdout, output.stderr].concat();
    let lines: Vec<String> = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
    for line in &lines {
        task.output(line.as_str());
    }
    if !output.status.success() {
        return Err(failed(unconfigured, output.status.code(), lines));
    }
    Ok(())
}

fn failed(unconfigured: &Unconfigured<'_>, status: Option<i32>, mut lines: Vec<String>) -> DebianError {
    let log = lines.split_off(lines.len().saturating_sub(SHOWN_LINES));
    DebianError::Configure { release: unconfigured.release.clone(), status, log }
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
    let mut script = String::from("set -e\nexport DPKG_ROOT= DPKG_ADMINDIR=/var/lib/dpkg\n");
    for package in packages.iter().filter(|package| has_preinst(package)) {
        let (name, info) = (&package.name, info_name(package));
        let architecture = crate::deb822::field(&package.control, "Architecture").unwrap_or("all");
        script.push_str(&format!(
            "DPKG_MAINTSCRIPT_NAME=preinst DPKG_MAINTSCRIPT_PACKAGE={name} \
             DPKG_MAINTSCRIPT_ARCH={architecture} DPKG_MAINTSCRIPT_PACKAGE_REFCOUNT=1 \
             '/var/lib/dpkg/info/{info}.preinst' install </dev/null\n"
        ));
    }
    // Where no script made the user database, its master copy is the first one.
    for name in ["passwd", "group"] {
        script.push_str(&format!(
            "[ -e /etc/{name} ] || [ ! -e /usr/share/base-passwd/{name}.master ] || \
             cp /usr/share/base-passwd/{name}.master /etc/{name}\n"
        ));
    }
    script.push_str("unset DPKG_ROOT DPKG_ADMINDIR\n");
    script.push_str("exec dpkg --configure --pending --force-unsafe-io </dev/null\n");
    script
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
