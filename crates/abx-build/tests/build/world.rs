//! A home, a small root and packages, in a temporary directory.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use abx_build::{BuildError, Builder, Built, Limits, Outcome};
use abx_core::host::HostNetwork;
use abx_core::{Event, Home, Progress};
use abx_image::{Image, ImageStore};
use abx_source::{Lineage, SourceContext};
use rustix::process::{WaitId, WaitIdOptions, waitid};

pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) store: ImageStore,
    pub(crate) host: HostNetwork,
    pub(crate) limits: Limits,
    pub(crate) offline: bool,
    pub(crate) no_cache: bool,
    pub(crate) base: Image,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("tempdir");
        let store = ImageStore::open(&Home::new(dir.path().join("home")));
        let base = crate::root::base(&store);
        Self {
            dir,
            store,
            host: HostNetwork::default(),
            limits: Limits::default(),
            offline: false,
            no_cache: false,
            base,
        }
    }

    /// Writes a file of the package `mine`.
    pub(crate) fn file(&self, path: &str, content: &str) -> &Self {
        let path = self.dir.path().join("mine").join(path);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
        std::fs::write(path, content).expect("write");
        self
    }

    /// Writes the template of the package, `build` being what follows that key.
    pub(crate) fn template(&self, build: &str) -> &Self {
        self.file(
            "template.yaml",
            &format!("version: \"1\"\nmetadata: {{name: mine}}\nbase: {{image: \"debian:bookworm-slim\"}}\nbuild:\n{build}"),
        )
    }

    pub(crate) fn lineage(&self) -> Lineage {
        let context = SourceContext::new(self.store.home().clone(), self.dir.path().to_owned(), None);
        abx_source::resolve("./mine", &context).expect("lineage")
    }

    pub(crate) fn builder(&self) -> Builder {
        Builder {
            store: self.store.clone(),
            home: self.store.home().clone(),
            host: self.host.clone(),
            exe: std::env::current_exe().expect("this program"),
            no_cache: self.no_cache,
            offline: self.offline,
            limits: self.limits,
        }
    }

    pub(crate) fn build(&self) -> Result<Built, BuildError> {
        self.build_with(&Record::default())
    }

    pub(crate) fn build_with(&self, record: &Record) -> Result<Built, BuildError> {
        self.builder().build_blocking(&self.lineage(), self.base.clone(), record, &AtomicBool::new(false))
    }

    /// The text of a file of the image.
    pub(crate) fn read(&self, built: &Built, path: &str) -> Option<String> {
        self.find(built, path).and_then(|path| std::fs::read_to_string(path).ok())
    }

    /// A file of the image in the topmost layer that has it.
    pub(crate) fn find(&self, built: &Built, path: &str) -> Option<PathBuf> {
        let layers = built.image.layers.iter().rev();
        layers
            .map(|layer| self.store.layer_path(layer).join(path))
            .find(|path| path.symlink_metadata().is_ok())
    }

    /// Nothing half made is left in the home.
    pub(crate) fn assert_clean(&self) {
        let staging = self.store.home().store("staging");
        let left = std::fs::read_dir(staging).map_or(0, Iterator::count);
        assert_eq!(left, 0, "staging is empty");
    }
}

impl Drop for World {
    /// Waits for the last helper, the one that writes the home to disk: it must not meet its removal.
    fn drop(&mut self) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while waitid(WaitId::All, options).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

/// Titles and outcomes of a build, `+` for built.
pub(crate) fn outcomes(built: &Built) -> Vec<String> {
    let sign = |outcome| if outcome == Outcome::Built { '+' } else { '=' };
    built.steps.iter().map(|step| format!("{}{}", sign(step.outcome), step.title)).collect()
}

/// Remembers lines of output.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) lines: Mutex<Vec<String>>,
}

impl Progress for Record {
    fn event(&self, event: Event) {
        if let Event::Output { line, .. } = event {
            self.lines.lock().expect("lock").push(line);
        }
    }
}
