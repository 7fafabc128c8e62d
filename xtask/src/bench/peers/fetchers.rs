//! Programs that fetch a repository: `curl | tar`, giget, and the public reference client.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::clock::quiet;
use crate::bench::github::Github;
use crate::bench::peers::installed;
use crate::bench::repository::{NAME, Repository};
use crate::tool;

/// What the reference client does when a template is named.
const REFERENCE: &str = "\
import asyncio, sys
from easy_sandbox.utils.registry import RegistryClient
client = RegistryClient(registry_url=sys.argv[1])
asyncio.run(client.fetch(asyncio.run(client.resolve(sys.argv[2]))))
";

/// Without a cache, a resume, a check or a sync.
pub(crate) struct CurlTar {
    curl: PathBuf,
    tar: PathBuf,
}

impl CurlTar {
    pub(crate) fn new() -> Result<Self, String> {
        Ok(Self { curl: installed("curl", "curl")?, tar: installed("tar", "tar")? })
    }

    /// Into `target`, which exists: all of it, or one folder.
    pub(crate) fn fetch(
        &self,
        github: &Github,
        repository: &Repository,
        folder: Option<&str>,
        target: &Path,
    ) -> Command {
        let (strip, member) = match folder {
            Some(folder) => (2, format!("{}/{folder}", repository.top())),
            None => (1, String::new()),
        };
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!(
            "{} --silent --fail --location {} | {} --extract --gzip --directory {} --strip-components={strip} {member}",
            self.curl.display(),
            github.archive_url(),
            self.tar.display(),
            target.display(),
        ));
        command
    }
}

/// The program of the npm package.
pub(crate) struct Giget {
    program: PathBuf,
}

impl Giget {
    pub(crate) fn new() -> Result<Self, String> {
        let missing = || "not installed: npm install --global giget".to_owned();
        tool::find("giget").map(|program| Self { program }).ok_or_else(missing)
    }

    /// Into `target/repository`, with a cache that is as fresh as `target`.
    pub(crate) fn fetch(&self, github: &Github, folder: Option<&str>, target: &Path) -> Command {
        let folder = folder.map(|folder| format!("/{folder}")).unwrap_or_default();
        let mut command = Command::new(&self.program);
        command.arg(format!("gh:{NAME}{folder}#v1")).arg(target.join("repository"));
        command.env("GIGET_GITHUB_URL", github.url()).env("XDG_CACHE_HOME", target.join("cache"));
        command
    }
}

/// The Python package; it keeps what it fetches below the home folder.
pub(crate) struct Reference {
    python: PathBuf,
}

impl Reference {
    pub(crate) fn new() -> Result<Self, String> {
        let python = installed("python3", "python3")?;
        let has_client = ["-c", "import easy_sandbox.utils.registry"];
        quiet(Command::new(&python).args(has_client))
            .map_err(|_| "not installed: pip install 'easy-sandbox[cli]'".to_owned())?;
        Ok(Self { python })
    }

    pub(crate) fn fetch(&self, github: &Github, folder: Option<&str>, target: &Path) -> Command {
        let folder = folder.map(|folder| format!("//{folder}")).unwrap_or_default();
        let mut command = Command::new(&self.python);
        command.args(["-c", REFERENCE]).arg(github.url()).arg(format!("{NAME}{folder}@v1"));
        command.env("HOME", target);
        command
    }
}
