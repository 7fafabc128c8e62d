//! docker in a root file system of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{CGROUP, Scratch};
use crate::failure::Failure;
use crate::tool;

/// Becomes the daemon: `$1` is the root, `$2` the folder of the run, seen at the same place inside, `$3` the control
/// group. The root is pivoted to, as a plain chroot is not enough for what docker does.
const SCRIPT: &str = r#"
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/run"
mount -t tmpfs tmpfs "$1/tmp"
mkdir -p "$1$2" "$1/run/old-root"
mount --rbind "$2" "$1$2"
cat /etc/resolv.conf > "$1/etc/resolv.conf"
cd "$1"
pivot_root . run/old-root
umount -l /run/old-root
exec dockerd --data-root "$2/docker" --exec-root /run/docker --pidfile /run/docker.pid \
    --host unix:///run/docker.sock --cgroup-parent "$3" \
    --bridge=none --iptables=false --ip6tables=false --ip-forward=false > "$2/dockerd.log" 2>&1
"#;

/// A running daemon; dropping it ends it with all it has started.
pub(crate) struct Daemon<'s> {
    process: Child,
    client: PathBuf,
    scratch: &'s Scratch,
}

impl<'s> Daemon<'s> {
    /// Starts the daemon of the root at `root` and waits until it answers.
    pub(crate) fn start(root: &Path, scratch: &'s Scratch) -> Result<Self, Failure> {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]);
        command.args(["--", "sh", "-euc", SCRIPT, "peer"]).arg(root).arg(scratch.path()).arg(CGROUP);
        command.stdin(Stdio::null());
        let process = command.spawn().map_err(|source| tool::start_failure(&command, source))?;
        let client = scratch.path().join("docker-client");
        let daemon = Self { process, client, scratch };
        scratch.lab_began(daemon.process.id())?;
        daemon.write_client()?;
        daemon.wait()?;
        Ok(daemon)
    }

    /// A program that takes the arguments of `docker`.
    pub(crate) fn client(&self) -> &Path {
        &self.client
    }

    /// Makes an image of the root file system in an archive.
    pub(crate) fn import(&self, archive: &Path, name: &str) -> Result<(), Failure> {
        let file = std::fs::File::open(archive).map_err(Failure::file(archive))?;
        let mut command = Command::new(&self.client);
        command.args(["import", "-", name]).stdin(file);
        let output = command.output().map_err(|source| tool::start_failure(&command, source))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(tool::failed(&command, &output.status.to_string(), &output.stderr)),
        }
    }

    /// The version of the daemon.
    pub(crate) fn version(&self) -> Result<String, Failure> {
        let mut command = Command::new(&self.client);
        let said = tool::output(command.args(["version", "--format", "{{.Server.Version}}"]))?;
        Ok(said.trim().to_owned())
    }

    fn write_client(&self) -> Result<(), Failure> {
        let text = format!(
            "#!/bin/sh\nexec nsenter --target {} --mount --root --wd=/ docker \"$@\"\n",
            self.process.id()
        );
        let failure = || Failure::file(&self.client);
        std::fs::write(&self.client, text).map_err(failure())?;
        std::fs::set_permissions(&self.client, PermissionsExt::from_mode(0o755)).map_err(failure())
    }

    fn wait(&self) -> Result<(), Failure> {
        let start = Instant::now();
        let mut command = Command::new(&self.client);
        command.arg("info");
        while tool::output(&mut command).is_err() {
            if start.elapsed() > Duration::from_secs(60) {
                let said = std::fs::read(self.scratch.path().join("dockerd.log")).unwrap_or_default();
                return Err(tool::failed(&command, "the daemon does not answer", &said));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = self.scratch.lab_ended(self.process.id());
    }
}
