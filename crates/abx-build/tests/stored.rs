//! A template that was built into a local image, used and inherited from: on disk, without processes.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use abx_build::{Builder, Built, Limits};
use abx_core::Home;
use abx_core::host::HostNetwork;
use abx_core::progress::Silent;
use abx_image::{Image, ImageConfig, ImageStore, LayerId, LayerRecord, Origin};
use abx_source::{BaseImage, SourceContext};

struct World {
    dir: tempfile::TempDir,
    store: ImageStore,
    base: Image,
}

impl World {
    /// With a base image of next to nothing; `None` where files cannot be given to other users.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            let _ = writeln!(std::io::stdout(), "skipped: layers are written as root");
            return None;
        }
        let dir = tempfile::tempdir().expect("tempdir");
        let store = ImageStore::open(&Home::new(dir.path().join("home")));
        let layer = store.begin_layer().expect("layer");
        fs::create_dir_all(layer.fs().join("etc")).expect("mkdir");
        fs::write(layer.fs().join("etc/passwd"), "root:x:0:0::/root:/bin/sh\n").expect("passwd");
        let layer = layer.publish(LayerId("b".repeat(64)), &LayerRecord::new("test")).expect("publish");
        let origin = Origin::Registry { name: "debian".into(), digest: "sha256:0".into() };
        let base = store.put_image(vec![layer], ImageConfig::default(), origin).expect("base image");
        Some(Self { dir, store, base })
    }

    fn package(&self, name: &str, base: &str, rest: &str) {
        let folder = self.dir.path().join(name);
        fs::create_dir_all(folder.join("scripts")).expect("mkdir");
        let text = format!("version: \"1\"\nmetadata: {{name: {name}}}\nbase: {{{base}}}\n{rest}");
        fs::write(folder.join("template.yaml"), text).expect("template");
    }

    /// Builds a reference, and gives the image a local name as `template build` does.
    fn build(&self, reference: &str, name: Option<(&str, &str)>) -> Built {
        let home = self.store.home();
        let context = SourceContext::new(home.clone(), self.dir.path().to_owned(), None);
        let lineage = abx_source::resolve(reference, &context).expect(reference);
        let base = match &lineage.base {
            BaseImage::Image { .. } | BaseImage::Vendored { .. } | BaseImage::Scratch => self.base.clone(),
            BaseImage::Stored { name, tag, .. } => {
                let id = self.store.lookup(name, tag).expect("lookup").expect("tag");
                self.store.image(&id).expect("image").expect("image")
            }
        };
        let built = self.builder().build_blocking(&lineage, base, &Silent, &AtomicBool::new(false));
        let built = built.expect(reference);
        if let Some((name, tag)) = name {
            abx_source::keep(home, name, tag, &lineage).expect("keep");
            self.store.tag(name, tag, &built.image.id).expect("tag");
        }
        built
    }

    fn builder(&self) -> Builder {
        Builder {
            store: self.store.clone(),
            home: self.store.home().clone(),
            host: HostNetwork::default(),
            exe: Path::new("/nonexistent").to_owned(),
            no_cache: false,
            offline: true,
            limits: Limits::default(),
        }
    }
}

#[test]
fn a_local_template_is_the_image_it_was_and_keeps_its_settings() {
    let Some(world) = World::new() else { return };
    let keys = "build: {env: {A: b, PATH: \"/own:$PATH\"}}\nresources: {cpu: 2}\nnetwork: {ports: [80]}\n\
                sandbox: {user: me, workdir: /srv, startup_command: serve}\ncapabilities: [shell]\n";
    world.package("mine", "image: debian", keys);
    fs::write(world.dir.path().join("mine/scripts/healthcheck.sh"), "#!/bin/sh\n").expect("script");
    let first = world.build("./mine", Some(("app", "v1")));
    fs::remove_dir_all(world.dir.path().join("mine")).expect("the folder has served");

    let again = world.build("app:v1", None);
    assert_eq!(again.steps, []);
    assert_eq!(again.image, first.image);
    let (mut settings, expected) = (again.effective, first.effective);
    settings.startup_command.clone_from(&expected.startup_command);
    settings.capabilities_place.clone_from(&expected.capabilities_place);
    assert_eq!(settings, expected, "all but the places, which name the stored file");

    world.package("child", "from: app:v1", "resources: {memory: 512}\n");
    let child = world.build("./child", None);
    assert_eq!(child.steps, []);
    assert_eq!(child.image.layers, first.image.layers);
    assert_eq!(child.image.config.env, first.image.config.env, "no variable is set twice");
    assert_eq!((child.effective.cpu, child.effective.memory), (2.0, 512));
    assert_eq!((child.effective.user.as_str(), child.effective.workdir.as_str()), ("me", "/srv"));
    assert_eq!(child.effective.healthcheck, expected.healthcheck);

    world.package("more", "from: app:v1", "build: {env: {PATH: \"/more:$PATH\"}}\n");
    let more = world.build("./more", None);
    let titles: Vec<&str> = more.steps.iter().map(|step| step.title.as_str()).collect();
    assert_eq!(titles, ["environment of login shells"]);
    let path = more.image.config.env.iter().find(|(name, _)| name == "PATH").expect("PATH");
    assert!(path.1.starts_with("/more:/own:/usr/local/sbin:"), "{}", path.1);
}
