//! A home, a small root and a build context, in a temporary directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use abx_build::{
    BuildError, BuildSecret, Builder, DockerfileImage, DockerfileRequest, Limits, Outcome, froms,
};
use abx_core::host::HostNetwork;
use abx_core::{Event, Home, Progress};
use abx_dockerfile::{Ignore, Platform};
use abx_image::{Image, ImageStore};
use rustix::process::{WaitId, WaitIdOptions, waitid};

pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) store: ImageStore,
    pub(crate) base: Image,
    pub(crate) offline: bool,
    pub(crate) no_cache: bool,
    pub(crate) args: Vec<(String, String)>,
    pub(crate) secrets: Vec<BuildSecret>,
    pub(crate) target: Option<String>,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir(dir.path().join("context")).expect("mkdir");
        let store = ImageStore::open(&Home::new(dir.path().join("home")));
        let base = crate::root::base(&store);
        Self {
            dir,
            store,
            base,
            offline: false,
            no_cache: false,
            args: Vec::new(),
            secrets: Vec::new(),
            target: None,
        }
    }

    /// A place of the build context.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join("context").join(path)
    }

    /// Writes a file of the build context.
    pub(crate) fn file(&self, path: &str, content: &str) -> &Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
        std::fs::write(path, content).expect("write");
        self
    }

    /// What a build of this Dockerfile is asked with; every image it names is the small root.
    pub(crate) fn request(&self, text: &str) -> DockerfileRequest {
        let file = abx_dockerfile::parse(text, "Dockerfile").expect("parse");
        let platform = Platform::parse(std::env::consts::ARCH).expect("platform");
        let needed = froms(&file, &self.args, &platform, self.target.as_deref()).expect("froms");
        let ignore = std::fs::read_to_string(self.path(".dockerignore")).ok();
        DockerfileRequest {
            file,
            context: self.path(""),
            ignore: ignore.map(|text| Ignore::parse(&text, ".dockerignore").expect("ignore")),
            target: self.target.clone(),
            build_args: self.args.clone(),
            secrets: self.secrets.clone(),
            platform,
            bases: needed
                .into_iter()
                .map(|image| (image.name, self.base.clone()))
                .collect::<BTreeMap<_, _>>(),
            name: "mine".to_owned(),
        }
    }

    pub(crate) fn builder(&self) -> Builder {
        Builder {
            store: self.store.clone(),
            home: self.store.home().clone(),
            host: HostNetwork::default(),
            exe: std::env::current_exe().expect("this program"),
            no_cache: self.no_cache,
            offline: self.offline,
            limits: Limits::default(),
        }
    }

    pub(crate) fn try_build(&self, text: &str) -> Result<DockerfileImage, BuildError> {
        self.build_with(&self.request(text), &Record::default())
    }

    pub(crate) fn build_with(
        &self,
        request: &DockerfileRequest,
        record: &Record,
    ) -> Result<DockerfileImage, BuildError> {
        self.builder().build_dockerfile_blocking(request, record, &AtomicBool::new(false))
    }

    /// Builds what must succeed.
    pub(crate) fn build(&self, text: &str) -> DockerfileImage {
        let built = self.try_build(text);
        built.unwrap_or_else(|error| panic!("{error}: {:?}", abx_core::Fault::details(&error)))
    }

    /// A file of the image in the topmost layer that has it.
    pub(crate) fn find(&self, built: &DockerfileImage, path: &str) -> Option<PathBuf> {
        let layers = built.image.layers.iter().rev();
        let found = layers
            .map(|layer| self.store.layer_path(layer).join(path))
            .find(|path| path.symlink_metadata().is_ok())?;
        (!is_whiteout(&found)).then_some(found)
    }

    /// The text of a file of the image.
    pub(crate) fn read(&self, built: &DockerfileImage, path: &str) -> Option<String> {
        self.find(built, path).and_then(|path| std::fs::read_to_string(path).ok())
    }

    /// Every name that the layers above the small root have, with mode, owner and content or target, in order.
    pub(crate) fn listing(&self, built: &DockerfileImage) -> Vec<String> {
        self.list(built, 1)
    }

    /// The same of every layer.
    pub(crate) fn listing_all(&self, built: &DockerfileImage) -> Vec<String> {
        self.list(built, 0)
    }

    fn list(&self, built: &DockerfileImage, skipped: usize) -> Vec<String> {
        let mut lines = BTreeMap::new();
        for layer in built.image.layers.iter().skip(skipped) {
            let root = self.store.layer_path(layer);
            for entry in walkdir::WalkDir::new(&root).min_depth(1).sort_by_file_name() {
                let entry = entry.expect("entry");
                let path = entry.path().strip_prefix(&root).expect("below").display().to_string();
                lines.insert(path.clone(), describe(entry.path(), &path));
            }
        }
        lines.into_values().collect()
    }

    /// Nothing half made is left in the home.
    pub(crate) fn assert_clean(&self) {
        let staging = self.store.home().store("staging");
        let left = std::fs::read_dir(staging).map_or(0, Iterator::count);
        assert_eq!(left, 0, "staging is empty");
    }
}

fn is_whiteout(path: &Path) -> bool {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let metadata = path.symlink_metadata().expect("metadata");
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

/// `755 0:0 usr/bin/x = content`.
fn describe(host: &Path, path: &str) -> String {
    use std::os::unix::fs::MetadataExt;
    let metadata = host.symlink_metadata().expect("metadata");
    let kind = metadata.file_type();
    let what = if kind.is_dir() {
        "/".to_owned()
    } else if kind.is_symlink() {
        format!(" -> {}", std::fs::read_link(host).expect("link").display())
    } else if kind.is_file() {
        format!(" = {}", String::from_utf8_lossy(&std::fs::read(host).expect("read")).trim_end())
    } else {
        " (gone)".to_owned()
    };
    format!("{:o} {}:{} {path}{what}", metadata.mode() & 0o7777, metadata.uid(), metadata.gid())
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
pub(crate) fn outcomes(built: &DockerfileImage) -> Vec<String> {
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
