//! Pushing to a registry on the loopback that behaves, lies and breaks off.

use std::sync::Arc;

use abx_core::{Code, Fault, Home, Silent};
use abx_image::{
    CredentialSource, Credentials, Image, ImageConfig, ImageError, ImageStore, LayerId, LayerRecord,
    OpenUploads, Origin, Platform, Pushed, RegistryName, RegistrySettings, pull, push,
};
use abx_test::registry::{Login, LoopbackRegistry, Trick};
use tempfile::TempDir;

/// Larger than a chunk once it is compressed, for it does not compress.
const BIG: usize = (8 << 20) + (1 << 16);

struct Context {
    dir: TempDir,
    store: ImageStore,
    registry: LoopbackRegistry,
    settings: RegistrySettings,
    image: Image,
}

impl Context {
    /// A store with an image of a small and a large layer, and an empty registry; `None` where not run by root.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skipped("owners need root");
            return None;
        }
        let dir = tempfile::tempdir().expect("tempdir");
        let store = ImageStore::open(&Home::new(dir.path().join("home")));
        let layers = vec![layer(&store, 'a', b"small"), layer(&store, 'b', &noise(BIG))];
        let config = ImageConfig { architecture: "amd64".into(), ..ImageConfig::default() };
        let origin = Origin::Archive { release: "none".into(), date: "none".into(), packages: Vec::new() };
        let image = store.put_image(layers, config, origin).expect("put");
        let registry = LoopbackRegistry::start();
        Some(Self { dir, store, registry, settings: RegistrySettings::default(), image })
    }

    fn push_as(&self, repository: &str) -> Result<Pushed, ImageError> {
        let name = RegistryName::parse(&format!("{}/{repository}", self.registry.host())).expect("a name");
        let annotations = [("test".to_owned(), "a value".to_owned())];
        run(push(
            &self.store,
            &self.image,
            &name,
            &annotations,
            &self.settings,
            &OpenUploads::default(),
            &Silent,
        ))
    }

    fn push(&self) -> Result<Pushed, ImageError> {
        self.push_as("team/app:1")
    }

    fn log_in(&mut self, credentials: Credentials) {
        self.settings.credentials = Some(Arc::new(OneLogin(self.registry.host(), credentials)));
    }

    fn requested(&self, part: &str) -> usize {
        let requests = self.registry.requests();
        requests.iter().filter(|it| format!("{} {}", it.method, it.path).contains(part)).count()
    }

    /// What was pushed is what is pulled.
    fn assert_comes_back(&self) {
        let theirs = ImageStore::open(&Home::new(self.dir.path().join("theirs")));
        let name = format!("{}/team/app:1", self.registry.host());
        let platform = Platform::parse("linux/amd64").expect("a platform");
        let pulled = run(pull(&theirs, &name, &platform, &self.settings, &Silent)).expect("pull");
        let file = |store: &ImageStore, image: &Image| {
            std::fs::read(store.layer_path(&image.layers[1]).join("file")).expect("read")
        };
        assert!(file(&theirs, &pulled) == file(&self.store, &self.image));
        assert_eq!(self.registry.open_uploads(), 0);
    }

    fn assert_nothing_kept(&self) {
        let entries = std::fs::read_dir(self.store.home().store("staging")).map_or(0, Iterator::count);
        assert_eq!(entries, 0);
    }
}

/// One log-in at one registry.
#[derive(Debug)]
struct OneLogin(String, Credentials);

impl CredentialSource for OneLogin {
    fn find(&self, registry: &str, _: &str) -> Result<Option<Credentials>, ImageError> {
        Ok((registry == self.0).then(|| self.1.clone()))
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime").block_on(work)
}

fn layer(store: &ImageStore, letter: char, content: &[u8]) -> LayerId {
    let staged = store.begin_layer().expect("begin");
    std::fs::write(staged.fs().join("file"), content).expect("write");
    let id = LayerId(letter.to_string().repeat(64));
    staged.publish(id, &LayerRecord { created_by: "test".into(), created: 1 }).expect("publish")
}

fn noise(length: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn an_image_is_pushed_in_chunks_and_not_again() {
    let Some(context) = Context::new() else { return };
    let pushed = context.push().expect("push");
    assert_eq!((pushed.sent, pushed.bytes > BIG as u64), (2, true));
    let manifest = context.registry.manifest("team/app", "1").expect("tagged");
    assert_eq!(manifest["annotations"]["test"], "a value");
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert!(context.requested("PATCH") >= 1, "the large layer goes in chunks");
    context.assert_comes_back();
    context.assert_nothing_kept();

    let before = (context.requested("POST"), context.requested("PUT"), context.requested("PATCH"));
    let again = context.push().expect("push again");
    assert_eq!((again.sent, again.bytes, again.digest), (0, 0, pushed.digest.clone()));
    let after = (context.requested("POST"), context.requested("PUT"), context.requested("PATCH"));
    assert_eq!(after, before, "a second push sends nothing");
}

#[test]
fn what_another_repository_has_is_mounted_or_else_sent() {
    let Some(context) = Context::new() else { return };
    context.push().expect("push");
    let patches = context.requested("PATCH");
    // The blobs are found nowhere, and then in the other repository.
    context.registry.play("HEAD /v2/other/app/blobs", Trick::Status(404), 2);
    let mounted = context.push_as("other/app:2").expect("mount");
    assert_eq!((mounted.sent, context.requested("PATCH")), (0, patches));
    assert_eq!(context.requested("mount="), 2);

    context.registry.play("HEAD /v2/third/app/blobs", Trick::Status(404), 3);
    context.registry.play("mount=", Trick::RefuseMount, 100);
    let sent = context.push_as("third/app:2").expect("send");
    assert!(sent.sent >= 1, "a mount that is refused is no obstacle");
    assert_eq!(context.registry.open_uploads(), 0, "uploads begun for nothing are given up");
}

#[test]
fn a_transfer_that_breaks_is_taken_up_or_begun_anew() {
    for (part, trick, times) in [
        ("PATCH", Trick::TakeOnly(1 << 20), 2),
        ("PATCH", Trick::HangUp, 1),
        ("PATCH", Trick::Status(503), 2),
        ("PATCH", Trick::LieAboutRange("0-99".into()), 1),
        ("PATCH", Trick::LieAboutRange("0-99999999999".into()), 1),
        ("POST", Trick::Status(500), 1),
        ("PUT", Trick::Status(502), 1),
        ("PUT", Trick::HangUp, 1),
        ("PUT", Trick::TakeOnly(100), 1),
        ("HEAD", Trick::Status(500), 1),
        ("PUT /v2/team/app/manifests", Trick::Status(500), 1),
    ] {
        let Some(context) = Context::new() else { return };
        context.registry.play(part, trick.clone(), times);
        context.push().unwrap_or_else(|error| panic!("{part} {trick:?}: {error:?}"));
        context.assert_comes_back();
    }
}

#[test]
fn a_push_that_cannot_succeed_says_so_and_leaves_nothing() {
    for (part, trick, code) in [
        ("PATCH", Trick::Status(500), Code::PushFailed),
        ("PUT", Trick::Status(400), Code::PushFailed),
        ("PUT", Trick::LieAboutDigest, Code::PushFailed),
        ("PUT /v2/team/app/manifests", Trick::LieAboutDigest, Code::PushFailed),
        ("POST", Trick::Status(404), Code::PushFailed),
        ("POST", Trick::Status(429), Code::PushFailed),
        ("POST", Trick::Status(403), Code::RegistryLogin),
    ] {
        let Some(context) = Context::new() else { return };
        context.registry.play(part, trick.clone(), 1000);
        let error = context.push().expect_err(part);
        assert_eq!(error.code(), code, "{part} {trick:?}: {error:?}");
        assert!(error.to_string().starts_with("cannot push to 127.0.0.1:"), "{error}");
        context.assert_nothing_kept();
        let is_at_its_end = part.contains("manifests");
        assert!(is_at_its_end || context.registry.manifest("team/app", "1").is_none());
    }
}

#[test]
fn log_ins_reach_the_registry_alone() {
    let Some(mut context) = Context::new() else { return };
    let elsewhere = LoopbackRegistry::start();
    context.registry.require(Login::Basic { user: "ann".into(), password: "pw".into() });
    assert_eq!(context.push().expect_err("anonymous").code(), Code::RegistryLogin);
    context.log_in(Credentials::password("ann", "wrong"));
    let refused = context.push().expect_err("wrong");
    assert_eq!(refused.code(), Code::RegistryCredentials);
    assert!(refused.hints()[0].contains("docker login 127.0.0.1:"), "{:?}", refused.hints());
    assert!(!format!("{refused:?}").contains("wrong"));

    context.log_in(Credentials::password("ann", "pw"));
    context.registry.play("POST", Trick::Relocate(format!("http://{}", elsewhere.host())), 1);
    // The other host knows no such upload.
    context.push().expect_err("sent away");
    assert!(!elsewhere.requests().is_empty());
    for request in elsewhere.requests() {
        assert_eq!(request.header("authorization"), None, "{} {}", request.method, request.path);
    }
    context.push().expect("right");
}

#[test]
fn tokens_are_renewed_in_the_middle_and_loops_end() {
    let Some(mut context) = Context::new() else { return };
    context.registry.require(Login::Token { user: Some(("ann".into(), "pw".into())) });
    context.log_in(Credentials::password("ann", "pw"));
    context.registry.expire_tokens_after("PATCH");
    context.push().expect("renewed");
    assert_eq!(context.requested("/token"), 2);
    let asked = context.registry.requests().into_iter().find(|request| request.path.contains("/token"));
    let path = asked.expect("a token").path;
    assert!(path.contains("scope=repository%3Ateam%2Fapp%3Apull%2Cpush"), "{path}");

    let Some(mut context) = Context::new() else { return };
    context.registry.require(Login::Identity { token: "identity".into() });
    context.log_in(Credentials::Identity { token: abx_core::Secret::new("identity") });
    context.push().expect("exchanged");
    context.assert_comes_back();

    let Some(mut context) = Context::new() else { return };
    context.registry.require(Login::Never);
    context.log_in(Credentials::password("ann", "pw"));
    assert_eq!(context.push().expect_err("never").code(), Code::RegistryCredentials);
    assert!(context.registry.requests().len() < 20);
}

#[test]
fn a_push_that_is_dropped_leaves_nothing_here_and_can_leave_nothing_there() {
    let Some(context) = Context::new() else { return };
    context.registry.play("PATCH", Trick::Status(503), 1000);
    run(async {
        let name = RegistryName::parse(&format!("{}/team/app:1", context.registry.host())).expect("a name");
        let open = OpenUploads::default();
        let push = push(&context.store, &context.image, &name, &[], &context.settings, &open, &Silent);
        let cut_off = async {
            while context.requested("PATCH") == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! { _ = push => {}, () = cut_off => {} }
        open.give_up().await;
    });
    context.assert_nothing_kept();
    assert_eq!(context.registry.open_uploads(), 0);
    assert!(context.registry.manifest("team/app", "1").is_none());
}
