//! The stages up to unpacking, against a tiny archive on loopback.

mod archive;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use abx_core::host::{DebianMirrors, HostNetwork};
use abx_core::{Fault, Home, Silent};

use self::archive::{APT, FakeArchive, Kind, deb, new_key, public_key, sign};
use crate::bootstrap::{Bootstrap, Plan};
use crate::packages::unpack_all;
use crate::rooted::Rooted;
use crate::slim::SLIM;
use crate::unpack::{Unpacked, unpack};
use crate::{BootstrapSettings, DEFAULT_MAX_AGE, DebianError, Release, bootstrap, release_of, survey};

/// A home of its own, and settings that trust the archive's key.
struct Context {
    dir: tempfile::TempDir,
    archive: FakeArchive,
    settings: BootstrapSettings,
    release: Release,
}

impl Context {
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("tempdir");
        let archive = FakeArchive::start().await;
        let keyring = dir.path().join("keyring.asc");
        std::fs::write(&keyring, public_key(&archive.key)).expect("write");
        let mirrors = DebianMirrors { archive: Some(archive.base()), security: None };
        let settings = BootstrapSettings {
            home: Home::new(dir.path().join("home")),
            host: HostNetwork { debian: mirrors, ..HostNetwork::default() },
            default_mirror: "http://public.example/debian".to_owned(),
            keyrings: vec![keyring],
            offline: false,
            max_age: DEFAULT_MAX_AGE,
            helper: "/nonexistent/helper".into(),
        };
        let release = release_of("debian:bookworm-slim").expect("a release");
        Self { dir, archive, settings, release }
    }

    async fn plan(&self) -> Result<Plan, DebianError> {
        let bootstrap = Bootstrap::new(&self.release, &self.settings, &Silent)?;
        bootstrap.plan(bootstrap.suites().await?).await
    }

    /// Plans, fetches and unpacks below `root`.
    async fn unpack(&self) -> Result<Vec<Unpacked>, DebianError> {
        let plan = self.plan().await?;
        let bootstrap = Bootstrap::new(&self.release, &self.settings, &Silent)?;
        std::fs::create_dir_all(self.root()).expect("mkdir");
        let root = Arc::new(Rooted::open(&self.root()).expect("open"));
        unpack_all(&bootstrap.downloads, &plan.packages, &root, &SLIM, &Silent).await
    }

    async fn fails(&self) -> DebianError {
        bootstrap(&self.release, &self.settings, &Silent).await.expect_err("must fail")
    }

    fn root(&self) -> std::path::PathBuf {
        self.dir.path().join("root")
    }

    /// Neither layers nor half-made ones, whatever is in the cache.
    fn assert_store_is_empty(&self) {
        for part in ["layers", "images", "staging"] {
            let path = self.settings.home.store(part);
            let entries = std::fs::read_dir(&path).map_or(0, Iterator::count);
            assert_eq!(entries, 0, "{}", path.display());
        }
    }
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skipped("unpacking owners needs root");
    }
    root
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}

#[tokio::test]
async fn packages_are_planned_fetched_and_unpacked() {
    let context = Context::new().await;
    let unpacked = context.unpack().await.expect("unpack");
    let names: Vec<_> = unpacked.iter().map(|package| package.name.as_str()).collect();
    assert_eq!(names, ["apt", "debian-archive-keyring"]);
    let root = context.root();
    let tool = std::fs::metadata(root.join("bin/tool")).expect("unpacked");
    assert_eq!(tool.permissions().mode() & 0o7777, 0o4755);
    assert_eq!(tool.mtime(), 1_500_000_000);
    assert_eq!(tool.ino(), std::fs::metadata(root.join("bin/other")).expect("linked").ino());
    assert_eq!(
        std::fs::read_link(root.join("usr/share/tool")).expect("link"),
        Path::new("../../etc/tool.conf")
    );
    assert!(!root.join("usr/share/man/man1/tool.1").exists(), "slim leaves manual pages out");
    assert!(unpacked[0].paths.contains(&"/usr/share/man/man1/tool.1".to_owned()), "dpkg still lists them");
    let conffile = ("/etc/tool.conf".to_owned(), "f3ea7c1edaeadb419b37f991d051ffb0".to_owned());
    assert_eq!(unpacked[0].conffiles, [conffile]);
}

#[tokio::test]
async fn what_was_fetched_once_is_not_fetched_again() {
    let context = Context::new().await;
    let plan = context.plan().await.expect("plan");
    let bootstrap = Bootstrap::new(&context.release, &context.settings, &Silent).expect("client");
    let task = abx_core::progress::start(&Silent, "test", None, abx_core::progress::Unit::Bytes);
    let wanted = &plan.packages[0].wanted;
    let first = bootstrap.downloads.verified(wanted, &task).await.expect("fetch");
    context.archive.stop();
    assert_eq!(bootstrap.downloads.verified(wanted, &task).await.expect("cache"), first);
    let kept = context.settings.home.cache("debs").join(wanted.checksum.sha256());
    std::fs::write(&kept, "damaged").expect("write");
    let error = bootstrap.downloads.verified(wanted, &task).await.expect_err("neither cache nor network");
    assert!(error.is_network(), "{error}");
}

#[tokio::test]
async fn a_foreign_signature_is_refused_and_the_mirror_named() {
    let mut context = Context::new().await;
    context.settings.keyrings.clear();
    let error = context.fails().await;
    assert_eq!(error.code().as_str(), "E7012");
    assert!(matches!(error, DebianError::Signature { .. }), "{error:?}");
    assert!(error.to_string().contains(&context.archive.base()), "{error}");
    assert!(!context.settings.home.root().exists(), "nothing was written");
}

#[tokio::test]
async fn a_changed_text_is_refused() {
    let context = Context::new().await;
    context.archive.change("/debian/dists/bookworm/InRelease", |answer| {
        let text = String::from_utf8(answer.body.clone()).expect("text");
        answer.body = text.replace("Suite: fake", "Suite: kefa").into_bytes();
    });
    let error = context.fails().await;
    assert!(matches!(error, DebianError::Signature { .. }), "{error:?}");
    context.assert_store_is_empty();
}

#[tokio::test]
async fn a_release_file_of_another_suite_or_time_is_refused() {
    let context = Context::new().await;
    for (text, expect) in [
        ("Codename: trixie\nDate: Sat, 11 Jul 2020 10:16:37 UTC\nSHA256:\n", "it is for trixie"),
        ("Codename: bookworm\nDate: Sat, 11 Jul 9000 10:16:37 UTC\nSHA256:\n", "in the future"),
        (
            "Codename: bookworm\nDate: Sat, 11 Jul 2020 10:16:37 UTC\n\
             Valid-Until: Sun, 12 Jul 2020 10:16:37 UTC\nSHA256:\n",
            "valid until",
        ),
    ] {
        let signed = sign(&context.archive.key, text);
        context.archive.put("/debian/dists/bookworm/InRelease", signed.into_bytes());
        let error = context.fails().await;
        let source = std::error::Error::source(&error).expect("a cause").to_string();
        assert!(source.contains(expect), "{source}");
        assert_eq!(error.code().as_str(), "E7012");
    }
    context.assert_store_is_empty();
}

#[tokio::test]
async fn a_lying_package_is_named_and_not_kept() {
    let context = Context::new().await;
    context.archive.change(APT, |answer| answer.body[200] ^= 1);
    let error = context.fails().await;
    assert_eq!(error.code().as_str(), "E5022");
    assert!(error.to_string().contains("the package apt 1.0"), "{error}");
    let DebianError::Digest { wanted, found, .. } = error else { panic!("{error:?}") };
    for checksum in [wanted, found] {
        assert!(!context.settings.home.cache("debs").join(checksum.sha256()).exists(), "not kept");
    }
    context.assert_store_is_empty();
}

#[tokio::test]
async fn a_package_cut_short_is_no_package() {
    let context = Context::new().await;
    context.archive.change(APT, |answer| answer.body.truncate(100));
    let error = context.fails().await;
    assert!(matches!(error, DebianError::Interrupted { .. }), "{error:?}");
    context.archive.change(APT, |answer| answer.length = 100);
    let error = context.fails().await;
    assert_eq!(error.code().as_str(), "E5022", "{error}");
    context.assert_store_is_empty();
}

#[tokio::test]
async fn a_package_the_mirror_lacks_is_named() {
    let context = Context::new().await;
    context.archive.remove(APT);
    let error = context.fails().await;
    assert!(matches!(error, DebianError::Refused { status: 404, .. }), "{error:?}");
    assert!(error.to_string().contains("apt_1.0_all.deb"), "{error}");
    assert_eq!(error.code().as_str(), "E7012");
    assert!(error.hints().iter().any(|hint| hint.contains("debian_mirror")));
    context.archive.put_suite("/debian", "bookworm", "");
    let error = context.fails().await;
    assert!(matches!(error, DebianError::NoPackage { .. }), "{error:?}");
    context.assert_store_is_empty();
}

#[tokio::test]
async fn the_index_is_found_by_name_where_the_digest_is_not_served() {
    let context = Context::new().await;
    let bootstrap = Bootstrap::new(&context.release, &context.settings, &Silent).expect("client");
    let suites = bootstrap.suites().await.expect("suites");
    let architecture = crate::architecture::Architecture::of_host().expect("known").debian;
    let path = format!("main/binary-{architecture}/Packages");
    let digest = suites[0].release_file.file(&path).expect("listed").sha256().to_owned();
    let by_hash = format!("/debian/dists/bookworm/main/binary-{architecture}/by-hash/SHA256/{digest}");
    let mut text = Vec::new();
    context.archive.change(&by_hash, |answer| text.clone_from(&answer.body));
    context.archive.remove(&by_hash);
    context.archive.put(&format!("/debian/dists/bookworm/{path}"), text);
    assert_eq!(bootstrap.plan(suites).await.expect("plan").packages.len(), 2);
}

#[tokio::test]
async fn offline_without_a_cache_says_so() {
    let mut context = Context::new().await;
    context.settings.offline = true;
    let error = context.fails().await;
    assert_eq!(error.code().as_str(), "E5005");
    assert!(!context.settings.home.root().exists(), "nothing was written");
}

#[tokio::test]
async fn an_unreachable_mirror_is_named() {
    let context = Context::new().await;
    context.archive.stop();
    // The listener is gone once its task has been dropped.
    tokio::task::yield_now().await;
    let error = context.fails().await;
    assert_eq!(error.code().as_str(), "E5001", "{error:?}");
    assert!(error.to_string().contains("InRelease"), "{error}");
}

#[test]
fn hostile_packages_are_refused() {
    if !is_root() {
        return;
    }
    let hostile: [(&str, Vec<(&str, Kind)>); 4] = [
        ("a path that leaves the root", vec![("./../out", Kind::File("x", 0o644))]),
        ("a hard link that leaves the root", vec![("./in", Kind::HardLink("../out"))]),
        ("a path with a line break", vec![("./a\nb", Kind::File("x", 0o644))]),
        (
            "cannot unpack",
            vec![
                ("./up", Kind::Link("../..")),
                ("./up/out", Kind::File("x", 0o644)),
                ("./out", Kind::Directory),
            ],
        ),
    ];
    for (expect, files) in hostile {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("deep/root");
        std::fs::create_dir_all(&path).expect("mkdir");
        let root = Rooted::open(&path).expect("open");
        let result = unpack(&root, "evil", &deb("evil", "1", &files), &SLIM);
        assert!(!dir.path().join("deep/out").exists() && !dir.path().join("out").exists(), "{expect}");
        if let Err(error) = result {
            assert!(error.to_string().contains(expect), "{error}");
        } else {
            assert!(path.join("out").exists(), "what went through the link stayed inside");
        }
    }
}

#[test]
fn a_signature_counts_for_its_keyring_only() {
    let (ours, theirs) = (new_key(), new_key());
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("ring.asc");
    std::fs::write(&path, public_key(&ours)).expect("write");
    let mut keyring = crate::keyring::Keyring::empty();
    keyring.add_file(&path).expect("keyring");
    let now = u64::from(pgp::types::Timestamp::now().as_secs());
    let text = "Codename: x\n- dashed\n";
    assert_eq!(keyring.verify(&sign(&ours, text), now).expect("ours").trim_end(), text.trim_end());
    assert!(keyring.verify(&sign(&theirs, text), now).is_err());
    assert!(keyring.verify(text, now).is_err());
    assert!(keyring.verify(&sign(&ours, text), now - 3 * 24 * 60 * 60).is_err(), "dated in the future");
    std::fs::write(&path, "nonsense").expect("write");
    assert!(keyring.add_file(&path).is_err());
}

/// An image and the record of a bootstrap that gave it so many seconds ago.
fn remember(
    context: &Context,
    suites: Vec<crate::archive::KeptSuite>,
    seconds_ago: u64,
) -> abx_image::ImageId {
    let store = abx_image::ImageStore::open(&context.settings.home);
    let id = abx_image::LayerId("a".repeat(64));
    let staged = store.begin_layer().expect("begin");
    staged.publish(id.clone(), &abx_image::LayerRecord::new("test")).expect("publish");
    let origin = abx_image::Origin::Archive {
        release: context.release.to_string(),
        date: String::new(),
        packages: Vec::new(),
    };
    let image = store.put_image(vec![id], abx_image::ImageConfig::default(), origin).expect("image");
    let now = u64::from(pgp::types::Timestamp::now().as_secs());
    let architecture = crate::architecture::Architecture::of_host().expect("known").debian;
    let state = crate::state::State { checked: now - seconds_ago, suites, image: image.id.clone() };
    let file = crate::state::StateFile::new(&context.release, architecture, &context.settings);
    file.save(&state).expect("save");
    image.id
}

/// Keeps the warnings.
#[derive(Default)]
struct Warnings(std::sync::Mutex<Vec<String>>);

impl abx_core::Progress for Warnings {
    fn event(&self, event: abx_core::Event) {
        if let abx_core::Event::Warning(text) = event {
            self.0.lock().expect("lock").push(text);
        }
    }
}

#[tokio::test]
async fn a_fresh_image_is_reused_without_network() {
    let mut context = Context::new().await;
    context.archive.stop();
    let id = remember(&context, Vec::new(), 60);
    let image = bootstrap(&context.release, &context.settings, &Silent).await.expect("reused");
    assert_eq!(image.id, id);
    remember(&context, Vec::new(), 30 * 24 * 60 * 60);
    context.settings.offline = true;
    assert_eq!(bootstrap(&context.release, &context.settings, &Silent).await.expect("offline").id, id);
}

#[tokio::test]
async fn an_old_image_serves_where_the_network_fails_but_not_where_a_signature_does() {
    let context = Context::new().await;
    let id = remember(&context, Vec::new(), 3 * 24 * 60 * 60);
    let foreign = sign(&new_key(), "Codename: bookworm\n");
    let path = "/debian/dists/bookworm/InRelease";
    context.archive.put(path, foreign.into_bytes());
    assert_eq!(context.fails().await.code().as_str(), "E7012");
    context.archive.stop();
    tokio::task::yield_now().await;
    let warnings = Warnings::default();
    let image = bootstrap(&context.release, &context.settings, &warnings).await.expect("the old one");
    assert_eq!(image.id, id);
    let warnings = warnings.0.into_inner().expect("lock");
    assert!(warnings.len() == 1 && warnings[0].contains("current 3 days ago"), "{warnings:?}");
}

#[tokio::test]
async fn an_unchanged_archive_gives_the_same_image() {
    let context = Context::new().await;
    let suites = Bootstrap::new(&context.release, &context.settings, &Silent).expect("client").suites().await;
    let kept: Vec<_> = suites.expect("suites").iter().map(Into::into).collect();
    let id = remember(&context, kept.clone(), 3 * 24 * 60 * 60);
    // Nothing but the release files is needed to see that nothing has changed.
    context.archive.remove(APT);
    assert_eq!(bootstrap(&context.release, &context.settings, &Silent).await.expect("same").id, id);
    context.archive.stop();
    assert_eq!(bootstrap(&context.release, &context.settings, &Silent).await.expect("fresh again").id, id);
}

#[tokio::test]
async fn offline_the_cache_is_enough() {
    let mut context = Context::new().await;
    let suites = Bootstrap::new(&context.release, &context.settings, &Silent).expect("client").suites().await;
    let kept: Vec<_> = suites.expect("suites").iter().map(Into::into).collect();
    if is_root() {
        context.unpack().await.expect("online");
        std::fs::remove_dir_all(context.root()).expect("remove");
        remember(&context, kept, 3 * 24 * 60 * 60);
        context.archive.stop();
        context.settings.offline = true;
        assert_eq!(context.unpack().await.expect("offline").len(), 2);
        assert!(context.root().join("bin/tool").exists());
    }
}

#[tokio::test]
async fn a_survey_says_what_an_image_would_be_made_of_and_fetches_no_package() {
    let mut context = Context::new().await;
    let plan = context.plan().await.expect("plan");
    for package in &plan.packages {
        let path = package.wanted.url.split_once("/debian").map(|(_, path)| format!("/debian{path}"));
        context.archive.remove(&path.expect("a path"));
    }
    let found = survey(&context.release, &context.settings, &Silent).await.expect("survey");
    let packages: Vec<_> =
        plan.packages.iter().map(|package| format!("{}={}", package.name, package.version)).collect();
    assert_eq!((found.release, found.packages), (context.release.to_string(), packages));
    assert_eq!(found.date, plan.suites[0].release_file.date_text);
    context.archive.stop();
    context.settings.offline = true;
    let error = survey(&context.release, &context.settings, &Silent).await.expect_err("nothing kept");
    assert_eq!(error.code().as_str(), "E5005");
}

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

#[test]
fn damaged_packages_and_texts_never_panic_nor_leave_the_root() {
    let whole = deb(
        "evil",
        "1",
        &[
            ("./etc/", Kind::Directory),
            ("./etc/tool.conf", Kind::File("key=1\n", 0o644)),
            ("./up", Kind::Link("..")),
            ("./hard", Kind::HardLink("./etc/tool.conf")),
        ],
    );
    let text = "Codename: x\nDate: Sat, 11 Jul 2020 10:16:37 UTC\nSHA256:\n 00 1 a\n\nPackage: a\nDepends: a (>= 1) | b\n";
    let mut random = Random(42);
    for round in 0..300 {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("root");
        std::fs::create_dir(&path).expect("mkdir");
        let root = Rooted::open(&path).expect("open");
        let mut bytes = whole.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
        bytes.truncate(bytes.len() - random.below(2) * random.below(bytes.len()));
        let _ = unpack(&root, "evil", &bytes, &SLIM);
        let beside: Vec<_> = std::fs::read_dir(dir.path()).expect("list").flatten().collect();
        assert_eq!(beside.len(), 1, "round {round}: {beside:?}");

        let mut damaged = text.as_bytes().to_vec();
        let at = random.below(damaged.len());
        damaged[at] = random.below(256) as u8;
        let damaged = String::from_utf8_lossy(&damaged);
        let _ = crate::release_file::ReleaseFile::parse(&damaged);
        let _ = crate::mirrors_from_apt([damaged.as_ref()]);
        crate::relation::groups(&damaged).for_each(drop);
    }
}

#[test]
fn a_bootstrap_can_move_between_threads() {
    fn check<T: Send>(_: impl FnOnce() -> T) {}
    check(|| async {
        let context = Context::new().await;
        let _ = bootstrap(&context.release, &context.settings, &Silent).await;
    });
}
