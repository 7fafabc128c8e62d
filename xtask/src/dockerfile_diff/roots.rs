//! Root file systems from the Debian archive, made once and kept in the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dockerfile_diff::{kept, make};
use crate::failure::Failure;
use crate::tool;

/// The release whose docker is the peer: it knows here-documents and all flags of stable Dockerfiles then.
const PEER_RELEASE: &str = "trixie";
/// With what unpacks archives for it.
const PEER_PACKAGES: &str = "docker.io,docker-cli,docker-buildx,ca-certificates,xz-utils";
/// The release that Dockerfiles are built on.
const BASE_RELEASE: &str = "bookworm";

/// Both root file systems.
pub(crate) struct Roots {
    /// A directory with docker in it.
    pub(crate) peer: PathBuf,
    /// An archive of the root that cases build on.
    pub(crate) base: PathBuf,
}

impl Roots {
    /// Makes what is not there yet.
    pub(crate) fn bootstrap() -> Result<Self, Failure> {
        let folder = kept();
        make(&folder)?;
        let roots = Self { peer: folder.join("peer"), base: folder.join("base.tar") };
        once(&roots.peer, |target| {
            let mut command = mmdebstrap("minbase", PEER_RELEASE, target);
            command.arg(format!("--include={PEER_PACKAGES}"));
            command
        })?;
        once(&roots.base, |target| mmdebstrap("essential", BASE_RELEASE, target))?;
        Ok(roots)
    }
}

/// Makes `target` under another name first: one that is there is whole.
fn once(target: &Path, command: impl FnOnce(&Path) -> Command) -> Result<(), Failure> {
    if target.exists() {
        return Ok(());
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    tool::say(&format!("bootstrapping {}", target.display()));
    let unfinished = target.with_file_name(format!("unfinished-{name}"));
    let _ = std::fs::remove_dir_all(&unfinished);
    let _ = std::fs::remove_file(&unfinished);
    tool::output(&mut command(&unfinished))?;
    std::fs::rename(&unfinished, target).map_err(Failure::file(target))
}

/// Without a mirror it takes the archives this host has for the release, or Debian's own.
fn mmdebstrap(variant: &str, release: &str, target: &Path) -> Command {
    let mut command = Command::new("mmdebstrap");
    command.args(["--quiet", "--mode=root"]).arg(format!("--variant={variant}")).arg(release).arg(target);
    command
}
