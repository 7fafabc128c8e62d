//! Names: templates of the program, of this machine, and images.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use abx_source::lock::{Lock, LockedKind, describe};
use abx_source::{BaseImage, Lineage, Release, Releases, SourceContext, builtins, resolve};

use super::world::{ONE, World, debian, template};

#[tokio::test]
async fn a_built_in_has_the_digest_of_a_directory_with_its_files() {
    let world = World::new();
    for builtin in builtins() {
        for file in builtin.files {
            let path = world.dir.path().join(builtin.name).join(file.path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
            fs::write(&path, file.content).expect("write");
            let mode = if file.executable { 0o755 } else { 0o644 };
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("chmod");
        }
        let digest = |text: &str| {
            let lineage = resolve(text, &world.context()).expect(text);
            lineage.leaf().expect("a package").digest().expect("a digest")
        };
        assert_eq!(digest(builtin.name), digest(&format!("./{}", builtin.name)), "{}", builtin.name);
    }
}

/// A built-in as an older program had it.
static OLDER: &[Releases] = &[Releases {
    name: "base",
    columns: &[],
    releases: &[
        Release { version: "1.0.0", date: "2026-02-01", size: None, packages: &[] },
        Release { version: "0.9.0", date: "2026-01-01", size: None, packages: &[] },
    ],
}];

#[tokio::test]
async fn a_built_in_that_went_on_is_had_as_it_was_from_the_official_repository_else_it_has_drifted() {
    let world = World::new();
    let older = "version: \"1\"\nmetadata: {name: base, version: 0.9.0}\nbase: {image: \"debian:12\"}\n";
    let older = older.replace("0.9.0", "\"0.9.0\"");
    world.write("mine", &template("mine", "{from: base}"));
    world.write("older", &older);
    let older_digest =
        resolve("./older", &world.context()).expect("older").packages[0].digest().expect("digest");
    let mut lock = world.lock(debian()).await;
    lock.templates[1].tag = Some("0.9.0".to_owned());
    lock.templates[1].digest = Some(older_digest);
    fs::write(world.dir.path().join("mine/template.lock"), lock.to_string()).expect("write");
    let resolve = async || {
        let context = SourceContext { releases: OLDER, ..world.context() };
        world.resolve_in(context, "./mine").await.expect("resolved")
    };
    let drift = |lineage: &Lineage, context: &SourceContext| {
        let members = describe(lineage, ".", context).expect("described");
        let drift = lock.drift(&members, &lineage.base, "template.lock").expect("no lie");
        drift.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    // The repository is nowhere, and the program's own is what there is.
    let (lineage, context) = resolve().await;
    let drifted = drift(&lineage, &context);
    assert!(drifted.starts_with("`base`: locked 0.9.0 (sha256:"), "{drifted}");
    world.github.put("alicloud/sandbox-templates", "base/v0.9.0", ONE, &[("base/template.yaml", &older)]);
    let (lineage, context) = resolve().await;
    assert_eq!(
        (lineage.packages[0].spec.metadata.version.as_str(), drift(&lineage, &context).as_str()),
        ("0.9.0", "")
    );
}

#[tokio::test]
async fn a_local_template_is_had_by_the_tag_that_was_locked() {
    let world = World::new();
    world.write("mine", &template("mine", "{from: \"app:^1\"}"));
    world.store("app", "1.0.0", 'a');
    let lock = world.lock(debian()).await;
    let app = &lock.templates[1];
    assert_eq!((app.kind, app.tag.as_deref(), lock.templates.len()), (LockedKind::Local, Some("1.0.0"), 2));
    assert_eq!(app.digest, Some(format!("sha256:{}", "a".repeat(64))));
    fs::write(world.dir.path().join("mine/template.lock"), Lock { base: None, ..lock }.to_string())
        .expect("write");
    world.store("app", "1.1.0", 'b');
    let tag = async || match world.resolve("./mine").await.expect("resolved").0.base {
        BaseImage::Stored { tag, .. } => tag,
        base => panic!("{base:?}"),
    };
    assert_eq!(tag().await, "1.0.0");
    assert_eq!(world.drift().await.expect("no lie"), "");
    world.store("app", "1.0.0", 'c');
    let drift = world.drift().await.expect("no lie");
    assert_eq!(drift, "`app:^1`: locked 1.0.0 (sha256:aaaaaaaaaaaa), found 1.0.0 (sha256:cccccccccccc)");
    fs::remove_file(world.dir.path().join("home/store/names/app/1.0.0")).expect("remove");
    assert_eq!(tag().await, "1.1.0");
    assert!(world.drift().await.expect("no lie").contains("found 1.1.0"));
}

#[tokio::test]
async fn a_name_that_is_an_image_is_the_base_and_no_member() {
    let world = World::new();
    let folder = world.dir.path().join("mine");
    fs::create_dir(&folder).expect("mkdir");
    fs::write(folder.join("sandbox.yaml"), "name: mine\nbase: \"python:3.12-slim\"\n").expect("write");
    let (lineage, context) = world.resolve("./mine").await.expect("resolved");
    let members = describe(&lineage, ".", &context).expect("described");
    assert_eq!(members.len(), 1, "{members:?}");
    assert_eq!(
        lineage.base,
        BaseImage::Image { name: "python:3.12-slim".into(), place: lineage.base.place().cloned() }
    );
}
