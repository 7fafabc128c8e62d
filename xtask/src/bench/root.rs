//! The same root file system for everybody: what a sandbox of ours sees, copied once, with a fresh overlay for each
//! start.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::clock::{attempt, quiet};
use crate::bench::lab::Lab;
use crate::failure::Failure;
use crate::tool;

/// What programs fetching packages go by.
const HOST_FILES: [&str; 2] = ["/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"];

/// This host's list of Debian archives with `release`.
pub(crate) fn sources(release: &str) -> Option<PathBuf> {
    let lists = Path::new("/etc/apt/sources.list.d").read_dir().into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = lists.map(|entry| entry.path()).collect();
    files.push("/etc/apt/sources.list".into());
    files.into_iter().find(|path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let has_release = |line: &str| line.split_whitespace().any(|word| word == release);
        text.lines().any(|line| !line.starts_with('#') && has_release(line))
    })
}

/// An unpacked root file system.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    template: &'static str,
    tree: PathBuf,
    archive: PathBuf,
}

/// A root of one's own: the tree below, an empty layer above. Dropping it unmounts it.
pub(crate) struct Overlay {
    folder: PathBuf,
}

impl Root {
    /// Takes the root file system out of a sandbox of `template`, unless an earlier lab of this run did.
    pub(crate) fn of(template: &'static str, lab: &Lab) -> Result<Self, Failure> {
        let folder = lab.folder("roots")?;
        let tree = folder.join(template);
        let archive = folder.join(format!("{template}.tar"));
        let root = Self { template, tree, archive };
        if !root.tree.exists() {
            root.copy(lab)?;
        }
        Ok(root)
    }

    /// What it is the root of.
    pub(crate) fn template(&self) -> &'static str {
        self.template
    }

    /// The files as one tar archive.
    pub(crate) fn archive(&self) -> &Path {
        &self.archive
    }

    /// An overlay over it in `folder`, which must not exist.
    pub(crate) fn overlay(&self, folder: &Path) -> Result<Overlay, Failure> {
        for name in ["upper", "work", "root"] {
            let folder = folder.join(name);
            std::fs::create_dir_all(&folder).map_err(Failure::file(&folder))?;
        }
        let options = format!(
            "lowerdir={0},upperdir={1}/upper,workdir={1}/work",
            self.tree.display(),
            folder.display()
        );
        quiet(
            Command::new("mount").args(["-t", "overlay", "overlay", "-o", &options]).arg(folder.join("root")),
        )?;
        Ok(Overlay { folder: folder.to_owned() })
    }

    /// The same with this host's package archives and certificates written in, for programs that cannot pass them
    /// to build steps.
    pub(crate) fn with_host_network(&self, lab: &Lab) -> Result<Self, Failure> {
        let mut root = self.clone();
        root.archive = lab.folder("roots")?.join(format!("{}-host.tar", self.template));
        if root.archive.exists() {
            return Ok(root);
        }
        let overlay = self.overlay(&lab.folder("host-network")?)?;
        let inside = |path: &str| overlay.root().join(path.trim_start_matches('/'));
        for folder in ["/etc/apt/sources.list.d", "/etc/apt/sources.list"] {
            attempt(Command::new("rm").arg("--recursive").arg("--force").arg(inside(folder)));
        }
        let debian = sources("bookworm");
        let lists = inside("/etc/apt/sources.list.d");
        std::fs::create_dir_all(&lists).map_err(Failure::file(&lists))?;
        let files = debian.iter().map(PathBuf::as_path).chain(HOST_FILES.map(Path::new));
        for file in files.filter(|file| file.exists()) {
            let target = inside(&file.to_string_lossy());
            quiet(Command::new("cp").arg("--dereference").arg("--remove-destination").arg(file).arg(target))?;
        }
        let mut tar = Command::new("tar");
        tar.args(["--create", "--numeric-owner", "--directory"]).arg(overlay.root());
        quiet(tar.arg("--file").arg(&root.archive).arg("."))?;
        Ok(root)
    }

    fn copy(&self, lab: &Lab) -> Result<(), Failure> {
        tool::say(&format!("copying the root file system of `{}`", self.template));
        let id = lab.ours().create(self.template)?;
        let packed = self.pack(lab, &id);
        lab.ours().kill(&id);
        packed?;
        std::fs::create_dir(&self.tree).map_err(Failure::file(&self.tree))?;
        let mut tar = Command::new("tar");
        tar.args(["--extract", "--numeric-owner", "--same-permissions", "--directory"]).arg(&self.tree);
        quiet(tar.arg("--file").arg(&self.archive)).map(drop)
    }

    fn pack(&self, lab: &Lab, id: &str) -> Result<(), Failure> {
        let archive = File::create(&self.archive).map_err(Failure::file(&self.archive))?;
        let mut command = lab.ours().command(&["exec", id, "--user", "root", "--"]);
        command.args(["tar", "--create", "--numeric-owner", "--one-file-system", "--directory", "/", "."]);
        let output = command.stdin(Stdio::null()).stdout(archive).output();
        let output = output.map_err(|source| tool::start_failure(&command, source))?;
        // 1: a file changed while it was read.
        match output.status.code() {
            Some(0 | 1) => Ok(()),
            _ => Err(tool::failed(&command, &output.status.to_string(), &output.stderr)),
        }
    }
}

impl Overlay {
    /// Where it is mounted.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        attempt(Command::new("umount").arg("--lazy").arg(self.root()));
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
