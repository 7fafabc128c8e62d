//! A place to run `abx` in.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;

use crate::{LiveSandbox, Ran, run, skip, write_program};

/// The variables that say how this machine reaches package archives; everything else of the caller's environment is
/// kept from the program.
const PASSED: [&str; 13] = [
    "PATH",
    "SSL_CERT_FILE",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "UV_DEFAULT_INDEX",
    "npm_config_registry",
];

/// The index of templates that a test has which brings none of its own: a name that is unknown else must not lead to
/// the network.
const EMPTY_INDEX: &str = ".index.yaml";

/// What cargo tells an integration test about the program it has built.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// `env!("CARGO_BIN_EXE_abx")`; `ABX_TEST_PROGRAM` in the environment goes before it, to try an installed one.
    pub path: &'static str,
    /// `env!("CARGO_TARGET_TMPDIR")`, where the state lives that all tests of a checkout share.
    pub scratch: &'static str,
}

/// A folder to work in, which is the home of the user too, and a state directory.
///
/// Sandboxes of a state of its own end with it; those of the shared state end with their [`LiveSandbox`].
#[derive(Debug)]
pub struct TestContext {
    program: PathBuf,
    folder: TempDir,
    state: PathBuf,
    is_shared: bool,
}

impl TestContext {
    /// A state of its own with nothing in it.
    pub fn empty(program: Program) -> Self {
        Self::new(program, None)
    }

    /// With the shared state, or with one in its own folder.
    fn new(program: Program, shared: Option<PathBuf>) -> Self {
        let folder = tempfile::Builder::new().prefix("abx-test-").tempdir().expect("tempdir");
        // Tests act as other users too.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("chmod");
        std::fs::write(folder.path().join(EMPTY_INDEX), "templates: []\n").expect("write");
        let is_shared = shared.is_some();
        let state = shared.unwrap_or_else(|| folder.path().join("state"));
        let path = std::env::var_os("ABX_TEST_PROGRAM").map_or_else(|| program.path.into(), PathBuf::from);
        Self { program: path, folder, state, is_shared }
    }

    /// The state that all tests share, with `base` and `python-base` built. `None`, with a word on stderr, where this
    /// machine cannot do that.
    pub fn shared(program: Program) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("sandboxes need root");
            return None;
        }
        let context = Self::new(program, Some(shared_state(program)));
        static PREPARED: OnceLock<Result<(), String>> = OnceLock::new();
        match PREPARED.get_or_init(|| prepare(&context)) {
            Ok(()) => Some(context),
            Err(reason) => {
                skip(reason);
                None
            }
        }
    }

    /// A state of its own that has the Debian image, but nothing built on it.
    pub fn with_debian(program: Program) -> Option<Self> {
        let shared = Self::shared(program)?;
        let own = Self::empty(program);
        let record = shared.state.join("store/bases/debian:bookworm-slim");
        let id = std::fs::read_to_string(record).expect("the record of the base image");
        let image = shared.state.join("store/images").join(format!("{}.json", hex(&id)));
        let text = std::fs::read_to_string(image).expect("the base image");
        own.take_over(&shared, &["bases", "tools"]);
        own.copy(&shared, &format!("images/{}.json", hex(&id)));
        for layer in names(&shared.state.join("store/layers")).iter().filter(|name| text.contains(*name)) {
            own.copy(&shared, &format!("layers/{layer}"));
        }
        Some(own)
    }

    /// A state of its own in which everything is built that the shared one has.
    pub fn with_python(program: Program) -> Option<Self> {
        let shared = Self::shared(program)?;
        let own = Self::empty(program);
        own.take_over(&shared, &["bases", "tools", "images", "layers"]);
        Some(own)
    }

    /// Takes parts of the other's store, and shares its downloads.
    fn take_over(&self, other: &Self, parts: &[&str]) {
        std::fs::create_dir_all(self.state.join("store")).expect("store");
        symlink(other.state.join("store/cache"), self.state.join("store/cache")).expect("cache");
        for part in parts {
            self.copy(other, part);
        }
    }

    /// Copies below the store by hard links: owners, modes, attributes and devices of a layer stay as they are. For what
    /// nobody writes to any more, which is not so of disks.
    fn copy(&self, other: &Self, path: &str) {
        let (from, to) = (other.state.join("store").join(path), self.state.join("store").join(path));
        std::fs::create_dir_all(to.parent().expect("a parent")).expect("folder");
        let status = Command::new("cp").arg("-al").args([&from, &to]).status().expect("cp");
        assert!(status.success(), "cp of {path}: {status}");
    }

    /// Where the commands run.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `ABX_HOME`.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Writes a file below the folder, made executable where it begins with `#!`.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.folder().join(path);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("folder");
        if content.as_ref().starts_with(b"#!") {
            write_program(&file, content.as_ref());
        } else {
            std::fs::write(&file, content.as_ref()).expect("write");
        }
        file
    }

    /// Writes the package `./NAME` whose file has the usual head and then `rest`; returns how to refer to it.
    pub fn template(&self, name: &str, rest: &str) -> String {
        let text = format!("version: \"1\"\nmetadata:\n  name: {name}\n{rest}");
        self.write(&format!("{name}/template.yaml"), text);
        format!("./{name}")
    }

    /// `abx` with these words.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).env_clear().stdin(Stdio::null()).current_dir(self.folder());
        command.envs(PASSED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.env("HOME", self.folder()).env("ABX_HOME", &self.state);
        command.env("ABX_TEMPLATE_INDEX_URL", self.folder().join(EMPTY_INDEX));
        command
    }

    /// Runs `abx` to its end.
    #[track_caller]
    pub fn run(&self, words: &[&str]) -> Ran {
        run(self.command(words))
    }

    /// Runs `abx create` with these words, and ends the sandbox when the test ends.
    #[track_caller]
    pub fn create(&self, words: &[&str]) -> LiveSandbox<'_> {
        let id = self.run(&[&["create"], words].concat()).success();
        LiveSandbox::new(self, id.trim_end().to_owned())
    }

    /// Takes charge of a sandbox that was started otherwise.
    pub fn adopt(&self, id_or_name: &str) -> LiveSandbox<'_> {
        LiveSandbox::new(self, id_or_name.to_owned())
    }

    /// A name for a sandbox that no other test of the shared state has.
    pub fn name(&self, word: &str) -> String {
        let unique = self.folder().file_name().expect("a name").to_string_lossy().into_owned();
        format!("{word}-{}", unique.trim_start_matches("abx-test-").trim_start_matches('.'))
    }
}

impl Drop for TestContext {
    fn drop(&mut self) {
        if !self.is_shared && self.state.join("sandboxes").exists() {
            let _ = self.command(&["-q", "kill", "--all"]).output();
            let _ = self.command(&["-q", "doctor", "--clean"]).output();
            wait_for_the_last(&self.state);
        }
    }
}

/// The built state is as good as what built it, so a changed shape of the store must not meet it: the number goes up
/// with it.
fn shared_state(program: Program) -> PathBuf {
    Path::new(program.scratch).join("abx-home-1")
}

/// Builds what tests share, where it is not built yet. The reason why not, where this machine is what is in the way.
fn prepare(context: &TestContext) -> Result<(), String> {
    let ran = context.run(&["create", "--rm", "--network", "none", "python-base", "--", "true"]);
    if ran.status == Some(0) {
        return Ok(());
    }
    let lacks = ["error[E2011]", "error[E5001]", "error[E5000]"];
    match lacks.iter().find(|code| ran.stderr.contains(*code)) {
        Some(_) => Err(ran.stderr),
        None => panic!("python-base does not run: {ran:#?}"),
    }
}

/// A monitor may still do something for the next sandbox when its own is gone; the folder cannot be removed meanwhile.
fn wait_for_the_last(state: &Path) {
    let state = state.as_os_str().as_encoded_bytes();
    let is_of_state = |process: std::fs::DirEntry| {
        let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        words.windows(state.len()).any(|part| part == state)
    };
    for _ in 0..500 {
        if !std::fs::read_dir("/proc").into_iter().flatten().flatten().any(is_of_state) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn hex(id: &str) -> &str {
    id.trim().trim_start_matches("sha256:")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("folder");
    entries.map(|entry| entry.expect("entry").file_name().into_string().expect("text")).collect()
}
