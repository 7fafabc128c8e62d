//! Pulling from a registry on the loopback that behaves, lies and breaks off.

use std::io::Write;
use std::sync::Arc;

use abx_core::{Code, Fault, Home, Silent};
use abx_image::{
    CredentialSource, Credentials, Image, ImageError, ImageStore, Platform, Registry, RegistrySettings, pull,
};
use abx_test::registry::{Login, LoopbackRegistry, Trick, digest};
use rustix::mount::{MountFlags, MountPropagationFlags};
use serde_json::{Value, json};
use tempfile::TempDir;

const TAR: &str = "application/vnd.oci.image.layer.v1.tar";
const GZIP: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";
const ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";

struct Context {
    _dir: TempDir,
    store: ImageStore,
    registry: LoopbackRegistry,
    settings: RegistrySettings,
}

impl Context {
    /// A store and a registry with the image `team/app:1`; `None` where not run by root.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skipped("owners need root");
            return None;
        }
        let dir = tempfile::tempdir().expect("tempdir");
        let store = ImageStore::open(&Home::new(dir.path().join("home")));
        let registry = LoopbackRegistry::start();
        put_app(&registry, "1", "amd64");
        Some(Self { _dir: dir, store, registry, settings: RegistrySettings::default() })
    }

    fn name(&self) -> String {
        format!("{}/team/app:1", self.registry.host())
    }

    fn pull(&self, name: &str) -> Result<Image, ImageError> {
        run(pull(&self.store, name, &amd64(), &self.settings, &Silent))
    }

    fn set(&mut self, registry: Registry) {
        self.settings.registries.insert(self.registry.host(), registry);
    }

    fn log_in(&mut self, user: &str, password: &str) {
        let one = OneLogin(self.registry.host(), Credentials::password(user, password));
        self.settings.credentials = Some(Arc::new(one));
    }

    /// The digest of the large layer's blob.
    fn blob(&self) -> String {
        digest(&gzip(&big_tar()))
    }

    fn requested(&self, part: &str) -> usize {
        self.registry.requests().iter().filter(|request| request.path.contains(part)).count()
    }

    fn assert_nothing_kept(&self) {
        for part in ["staging", "images"] {
            let entries = std::fs::read_dir(self.store.home().store(part)).map_or(0, Iterator::count);
            assert_eq!(entries, 0, "{part}");
        }
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime").block_on(work)
}

fn amd64() -> Platform {
    Platform::parse("linux/amd64").expect("a platform")
}

/// One log-in at one registry.
#[derive(Debug)]
struct OneLogin(String, Credentials);

impl CredentialSource for OneLogin {
    fn find(&self, registry: &str, _: &str) -> Result<Option<Credentials>, ImageError> {
        Ok((registry == self.0).then(|| self.1.clone()))
    }
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, data) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *data).expect("append");
    }
    builder.into_inner().expect("finish")
}

/// Half a megabyte that does not compress, so that transfers come in many pieces.
fn big_tar() -> Vec<u8> {
    let mut state = 7_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(1 << 19)
    .collect();
    tar(&[("noise", &noise)])
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).expect("write");
    encoder.finish().expect("finish")
}

/// An image of three layers, one in each form a layer may have.
fn put_app(registry: &LoopbackRegistry, tag: &str, architecture: &str) -> Value {
    let (plain, zstd, big) = (tar(&[("plain", b"1")]), tar(&[("zstd", b"2")]), big_tar());
    let packed = zstd::stream::encode_all(&zstd[..], 3).expect("zstd");
    let config = json!({
        "architecture": architecture, "os": "linux",
        "config": { "Env": ["PATH=/bin", "A=b=c"], "Cmd": ["/plain"], "WorkingDir": "/app", "User": "1000" },
        "history": [
            { "created_by": "ADD plain" }, { "created_by": "ENV A", "empty_layer": true },
            { "created_by": "ADD noise" }, { "created_by": "ADD zstd" },
        ],
    });
    let layers: [(&str, &[u8], String); 3] =
        [(TAR, &plain, digest(&plain)), (GZIP, &gzip(&big), digest(&big)), (ZSTD, &packed, digest(&zstd))];
    registry.put_image("team/app", tag, &config, &layers)
}

#[test]
fn an_image_is_pulled_whole_and_not_again() {
    let Some(context) = Context::new() else { return };
    let image = context.pull(&context.name()).expect("pull");
    assert_eq!(image.layers.len(), 3);
    assert_eq!(std::fs::read(context.store.layer_path(&image.layers[0]).join("plain")).expect("read"), b"1");
    assert_eq!(std::fs::read(context.store.layer_path(&image.layers[2]).join("zstd")).expect("read"), b"2");
    assert_eq!(image.config.env, [("PATH".into(), "/bin".into()), ("A".into(), "b=c".into())]);
    assert_eq!((image.config.workdir.as_str(), image.config.user.as_str()), ("/app", "1000"));
    assert_eq!(image.config.history, ["ADD plain", "ADD noise", "ADD zstd"]);
    assert_eq!(context.store.image(&image.id).expect("read"), Some(image.clone()));
    assert_eq!(context.store.layer(&image.layers[1]).expect("read").expect("there").created_by, "ADD noise");

    let before = context.requested("/blobs/");
    assert_eq!(context.pull(&context.name()).expect("pull again").id, image.id);
    assert_eq!(context.requested("/blobs/"), before, "the second pull asks for the manifest only");

    let pulled = context.store.pulled(&context.name(), &amd64()).expect("read").expect("recorded");
    assert_eq!(pulled.image, image);
    let pinned = format!("{}/team/app@{}", context.registry.host(), pulled.digest);
    assert_eq!(context.pull(&pinned).expect("pull pinned").id, image.id);
    assert_eq!(context.requested("/blobs/"), before + 1, "a new name needs the configuration, no layer");
}

#[test]
fn the_platform_is_chosen_and_attestations_are_not() {
    let Some(context) = Context::new() else { return };
    let entry = |image: Value, architecture: &str, os: &str| {
        let mut image = image;
        image["platform"] = json!({ "architecture": architecture, "os": os });
        image
    };
    let registry = &context.registry;
    let index = "application/vnd.docker.distribution.manifest.list.v2+json";
    let manifests = [
        entry(put_app(registry, "x", "unknown"), "unknown", "unknown"),
        entry(put_app(registry, "x", "arm64"), "arm64", "linux"),
        entry(put_app(registry, "x", "amd64"), "amd64", "linux"),
    ];
    let list = json!({ "schemaVersion": 2, "mediaType": index, "manifests": manifests });
    let list_digest = registry.put_manifest("team/app", "multi", index, &list);
    let name = format!("{}/team/app:multi", registry.host());
    let image = context.pull(&name).expect("pull");
    assert_eq!(image.config.architecture, "amd64");
    let origin = abx_image::Origin::Registry { name: name.clone(), digest: list_digest };
    assert_eq!(image.origin, origin);

    let riscv = Platform::parse("linux/riscv64").expect("a platform");
    let error =
        run(pull(&context.store, &name, &riscv, &context.settings, &Silent)).expect_err("not offered");
    assert_eq!(error.code(), Code::BaseImage);
    assert_eq!(error.hints(), ["it is offered for linux/arm64, linux/amd64"]);
    let alone = run(pull(&context.store, &context.name(), &riscv, &context.settings, &Silent));
    assert_eq!(alone.expect_err("another machine's").code(), Code::BaseImage);
}

#[test]
fn lies_about_content_are_found_and_nothing_is_kept() {
    for (path, trick) in
        [("blob", Trick::Corrupt), ("blob", Trick::Lengthen(512)), ("/manifests/", Trick::LieAboutDigest)]
    {
        let Some(context) = Context::new() else { return };
        let path = if path == "blob" { context.blob() } else { path.to_owned() };
        context.registry.play(path, trick.clone(), 100);
        let error = context.pull(&context.name()).expect_err("a lie");
        assert_eq!(error.code(), Code::DigestMismatch, "{trick:?}: {error}");
        context.assert_nothing_kept();
    }
}

#[test]
fn a_layer_that_unpacks_to_something_else_is_refused() {
    let Some(context) = Context::new() else { return };
    let plain = tar(&[("file", b"x")]);
    let config = json!({ "architecture": "amd64", "os": "linux" });
    context.registry.put_image("team/app", "other", &config, &[(TAR, &plain, digest(b"something else"))]);
    let error =
        context.pull(&format!("{}/team/app:other", context.registry.host())).expect_err("not the diff id");
    assert_eq!(error.code(), Code::DigestMismatch);
    context.assert_nothing_kept();
}

#[test]
fn broken_transfers_are_taken_up_where_they_broke() {
    for (trick, times) in [(Trick::CutAfter(100_000), 3), (Trick::Status(503), 2)] {
        let Some(context) = Context::new() else { return };
        context.registry.play(context.blob(), trick, times);
        context.pull(&context.name()).expect("pull");
        assert_eq!(context.requested(&context.blob()), times + 1);
    }
    let Some(context) = Context::new() else { return };
    context.registry.play(context.blob(), Trick::CutAfter(1000), 1);
    context.registry.play(context.blob(), Trick::IgnoreRange, 1);
    context.pull(&context.name()).expect("a server without ranges starts over");
}

#[test]
fn a_transfer_that_never_ends_well_is_given_up() {
    let Some(context) = Context::new() else { return };
    context.registry.play(context.blob(), Trick::CutAfter(10), 1000);
    let error = context.pull(&context.name()).expect_err("broken");
    assert_eq!(error.code(), Code::Network, "{error}");
    context.assert_nothing_kept();
}

#[test]
fn failures_are_told_apart() {
    let Some(context) = Context::new() else { return };
    let host = context.registry.host();
    let missing = context.pull(&format!("{host}/team/none:1")).expect_err("missing");
    assert_eq!(missing.code(), Code::BaseImage);
    for (status, times, code) in
        [(500, 3, Code::ServerFailed), (403, 1, Code::RegistryLogin), (429, 1, Code::RateLimit)]
    {
        context.registry.play("/manifests/1", Trick::Status(status), times);
        let error = context.pull(&context.name()).expect_err("refused");
        assert_eq!(error.code(), code, "{status}: {error}");
        context.pull(&context.name()).expect("the trick has worn off");
    }
    let free_port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
        listener.local_addr().expect("address")
    };
    let nobody = context.pull(&format!("{free_port}/x")).expect_err("nobody there");
    assert_eq!(nobody.code(), Code::Unreachable);
    assert!(nobody.is_unreachable());
}

#[test]
fn malformed_manifests_are_called_so() {
    let Some(context) = Context::new() else { return };
    let registry = &context.registry;
    let good = registry.put_blob("{}");
    let blob = |digest: &str| json!({ "mediaType": TAR, "digest": digest, "size": 2 });
    for manifest in [
        json!([]),
        json!({ "schemaVersion": 1, "fsLayers": [] }),
        json!({ "schemaVersion": 2, "config": blob("sha256:../../../etc/passwd"), "layers": [] }),
        json!({ "schemaVersion": 2, "config": blob(&good), "layers": [] }),
        json!({ "schemaVersion": 2, "manifests": [{ "digest": "x", "size": 1, "platform": { "os": "linux", "architecture": "amd64" } }] }),
    ] {
        registry.put_manifest("team/app", "bad", "application/json", &manifest);
        let error = context.pull(&format!("{}/team/app:bad", registry.host())).expect_err("malformed");
        assert!(matches!(error, ImageError::Manifest { .. }), "{manifest}: {error:?}");
    }
}

#[test]
fn log_ins_of_both_kinds_work_and_wrong_ones_are_told() {
    let basic = || Login::Basic { user: "ann".into(), password: "pw".into() };
    let token = || Login::Token { user: Some(("ann".into(), "pw".into())) };
    for wanted in [basic(), token()] {
        let Some(mut context) = Context::new() else { return };
        context.registry.require(wanted);
        assert_eq!(context.pull(&context.name()).expect_err("anonymous").code(), Code::RegistryLogin);
        context.log_in("ann", "wrong");
        let error = context.pull(&context.name()).expect_err("wrong");
        assert_eq!(error.code(), Code::RegistryCredentials);
        assert!(!format!("{error:?}").contains("wrong"));
        context.log_in("ann", "pw");
        context.pull(&context.name()).expect("right");
    }
    let Some(context) = Context::new() else { return };
    context.registry.require(Login::Token { user: None });
    context.pull(&context.name()).expect("a token for anyone");
    assert_eq!(context.requested("/token"), 1, "one token does for the whole pull");
}

#[test]
fn credentials_do_not_follow_a_redirect_to_another_host() {
    let Some(mut context) = Context::new() else { return };
    let elsewhere = LoopbackRegistry::start();
    put_app(&elsewhere, "1", "amd64");
    context.registry.require(Login::Basic { user: "ann".into(), password: "pw".into() });
    context.log_in("ann", "pw");
    let base = format!("http://{}", elsewhere.host());
    context.registry.play(context.blob(), Trick::Redirect(base), 1);
    context.pull(&context.name()).expect("pull");
    let requests = elsewhere.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].header("authorization"), None);
}

#[test]
fn a_mirror_is_asked_first_and_without_the_registry_s_credentials() {
    let Some(mut context) = Context::new() else { return };
    let mirror = LoopbackRegistry::start();
    put_app(&mirror, "1", "amd64");
    let through = |mirror: String| Registry { mirror: Some(mirror), ..Registry::default() };
    context.log_in("ann", "pw");
    context.set(through(format!("http://{}/", mirror.host())));
    context.pull(&context.name()).expect("from the mirror");
    assert_eq!(context.registry.requests().len(), 0);
    assert!(mirror.requests().iter().all(|request| request.header("authorization").is_none()));

    let Some(mut context) = Context::new() else { return };
    context.set(through(LoopbackRegistry::start().host()));
    context.pull(&context.name()).expect("a mirror that is gone is no obstacle");
}

#[test]
fn two_pulls_at_once_fetch_a_layer_once() {
    let Some(context) = Context::new() else { return };
    let name = context.name();
    let platform = amd64();
    let pull = || pull(&context.store, &name, &platform, &context.settings, &Silent);
    let (one, other) = run(async { tokio::join!(pull(), pull()) });
    assert_eq!(one.expect("one").id, other.expect("other").id);
    assert_eq!(context.requested(&context.blob()), 1);
}

#[test]
fn a_pull_that_is_dropped_leaves_nothing() {
    let Some(context) = Context::new() else { return };
    context.registry.play(context.blob(), Trick::CutAfter(10), 1000);
    let name = context.name();
    run(async {
        let platform = amd64();
        let pull = pull(&context.store, &name, &platform, &context.settings, &Silent);
        let cut_off = async {
            while context.requested(&context.blob()) == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! { _ = pull => {}, () = cut_off => {} }
    });
    // The runtime has waited for its blocking threads.
    context.assert_nothing_kept();
}

#[test]
fn a_full_disk_is_told_and_keeps_nothing_half() {
    let Some(mut context) = Context::new() else { return };
    // A thread with mounts of its own, which go with it (and with those it starts).
    let dir = tempfile::tempdir().expect("tempdir");
    let home = dir.path().to_owned();
    let work = std::thread::spawn(move || {
        // SAFETY: only this thread and those it starts see other mounts from here on; it opens nothing before.
        let own = unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) };
        let private = own.and_then(|()| {
            rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        });
        if private.is_err() {
            return skipped("mount namespaces are not to be had");
        }
        rustix::mount::mount("small", &home, "tmpfs", MountFlags::empty(), c"size=300k").expect("mount");
        context.store = ImageStore::open(&Home::new(&home));
        let error = context.pull(&context.name()).expect_err("no room");
        assert_eq!(error.code(), Code::FileSize, "{error}");
        context.assert_nothing_kept();
    });
    work.join().expect("the thread's own asserts");
}
