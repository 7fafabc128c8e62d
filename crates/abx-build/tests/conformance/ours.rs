//! A build of ours.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use abx_build::{BuildError, BuildSecret, Builder, DockerfileRequest, Limits, froms};
use abx_core::host::HostNetwork;
use abx_core::{Event, Fault, Home, Progress};
use abx_dockerfile::{Ignore, Platform};
use abx_image::{Digest, Image, ImageConfig, ImageStore, LayerId, LayerRecord, Origin};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use serde_json::Value;

use crate::case::{Case, Place};
use crate::listing::{self, Tree};
use crate::outcome::Outcome;
use crate::{config, root};

/// A store with the base in it.
pub(crate) struct Ours {
    store: ImageStore,
    base: Image,
    below: Tree,
}

/// Nobody watches.
struct Silent;

impl Progress for Silent {
    fn event(&self, _: Event) {}
}

impl Ours {
    /// A store below `work`; the base is what `archive` holds, or a few tools of this host.
    pub(crate) fn new(work: &Path, archive: Option<&Path>) -> Self {
        let store = ImageStore::open(&Home::new(work.join("home")));
        let base = archive.map_or_else(|| root::base(&store), |archive| unpacked(&store, archive));
        let below = listing::tree(&[store.layer_path(&base.layers[0])]);
        Self { store, base, below }
    }

    /// Builds a case, its parent first.
    pub(crate) fn build(&self, case: &Case, place: &Place) -> Outcome {
        let mut bases = BTreeMap::from([("base".to_owned(), self.base.clone())]);
        let parent =
            case.parent.as_ref().map(|text| self.image(text, "Dockerfile.parent", case, place, &bases));
        let image = match parent {
            Some(Err(error)) => Err(error),
            Some(Ok(parent)) => {
                bases.insert("parent".to_owned(), parent);
                self.image(&case.dockerfile, "Dockerfile", case, place, &bases)
            }
            None => self.image(&case.dockerfile, "Dockerfile", case, place, &bases),
        };
        match image {
            Ok(image) => Outcome::Built(self.lines(&image, &place.server)),
            Err(error) => Outcome::Refused(said(&error).replace(&place.server, "SERVER")),
        }
    }

    fn image(
        &self,
        text: &str,
        name: &str,
        case: &Case,
        place: &Place,
        bases: &BTreeMap<String, Image>,
    ) -> Result<Image, BuildError> {
        let file = abx_dockerfile::parse(text, name).map_err(Box::new)?;
        let platform = Platform::parse(std::env::consts::ARCH).expect("platform");
        let target = case.target.clone().filter(|_| name == "Dockerfile");
        let needed = froms(&file, &place.args, &platform, target.as_deref()).map_err(Box::new)?;
        let ignore = std::fs::read_to_string(place.context.join(".dockerignore")).ok();
        let ignore =
            ignore.map(|text| Ignore::parse(&text, ".dockerignore")).transpose().map_err(Box::new)?;
        let secret = |(id, value): &(String, String)| BuildSecret {
            id: id.clone(),
            value: value.clone().into_bytes(),
        };
        let request = DockerfileRequest {
            file,
            context: place.context.clone(),
            ignore,
            target,
            build_args: place.args.clone(),
            secrets: case.secrets.iter().map(secret).collect(),
            platform,
            bases: needed
                .into_iter()
                .filter_map(|needed| Some((needed.name.clone(), bases.get(&needed.name)?.clone())))
                .collect(),
            name: case.name.clone(),
        };
        let built = self.builder().build_dockerfile_blocking(&request, &Silent, &AtomicBool::new(false))?;
        Ok(built.image)
    }

    fn builder(&self) -> Builder {
        Builder {
            store: self.store.clone(),
            home: self.store.home().clone(),
            host: HostNetwork::default(),
            exe: std::env::current_exe().expect("this program"),
            no_cache: false,
            offline: false,
            limits: Limits::default(),
        }
    }

    fn lines(&self, image: &Image, server: &str) -> Vec<String> {
        let layers: Vec<PathBuf> = image.layers.iter().map(|layer| self.store.layer_path(layer)).collect();
        let nothing = Tree::new();
        let below = if layers.first() == Some(&self.store.layer_path(&self.base.layers[0])) {
            &self.below
        } else {
            &nothing
        };
        let mut lines = listing::lines(below, &listing::tree(&layers));
        let digests: Vec<_> = layers.iter().map(|_| Digest::of(b"")).collect();
        let written = abx_image::probe::write(&image.config, &digests);
        let written: Value = serde_json::from_slice(&written).expect("a configuration");
        lines.extend(config::lines(&written["config"]));
        let history = written["history"].as_array().cloned().unwrap_or_default();
        let history = history.iter().map(|entry| entry["created_by"].as_str().unwrap_or_default());
        let is_scratch = below.is_empty();
        lines.extend(config::history(std::iter::once("").filter(|_| is_scratch).chain(history)));
        lines.iter().map(|line| line.replace(server, "SERVER")).collect()
    }
}

impl Drop for Ours {
    /// Waits for the last helper, the one that writes the home to disk: it must not meet its removal.
    fn drop(&mut self) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while waitid(WaitId::All, options).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

/// `Dockerfile:2:5 E2004 what is wrong`.
fn said(error: &BuildError) -> String {
    let snippets = error.snippets();
    let place = snippets
        .first()
        .map_or_else(String::new, |snippet| format!("{}:{}:{} ", snippet.file, snippet.line, snippet.column));
    format!("{place}{} {error}", error.code())
}

/// An image of one layer, the content of an archive.
fn unpacked(store: &ImageStore, archive: &Path) -> Image {
    let staged = store.begin_layer().expect("begin");
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--numeric-owner", "--same-permissions", "--xattrs", "--directory"])
        .arg(staged.fs());
    let status = tar.arg("--file").arg(archive).status().expect("tar");
    assert!(status.success(), "the base cannot be unpacked");
    let id = LayerId("b".repeat(64));
    staged.publish(id.clone(), &LayerRecord::new("an archive")).expect("publish");
    let origin = Origin::Registry { name: "base".into(), digest: "sha256:0".into() };
    store.put_image(vec![id], ImageConfig::default(), origin).expect("image")
}
