//! Logging in while pulling: lazily, once for all, again when a token has run out, and never for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use abx_core::{Code, Fault, Home, Secret, Silent};
use abx_image::{
    CredentialSource, Credentials, Image, ImageError, ImageStore, Platform, RegistrySettings, pull,
};
use abx_test::registry::{Login, LoopbackRegistry, digest};
use serde_json::json;

const TAR: &str = "application/vnd.oci.image.layer.v1.tar";

/// Knows one log-in, and counts how often it is asked.
#[derive(Debug)]
struct Source {
    answer: Result<Credentials, &'static str>,
    asked: AtomicUsize,
}

impl CredentialSource for Source {
    fn find(&self, registry: &str, _: &str) -> Result<Option<Credentials>, ImageError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let failed = |reason| ImageError::CredentialHelper {
            helper: "test".into(),
            registry: registry.to_owned(),
            reason,
        };
        self.answer.clone().map(Some).map_err(failed)
    }
}

struct Context {
    _dir: tempfile::TempDir,
    store: ImageStore,
    registry: LoopbackRegistry,
    source: Arc<Source>,
}

impl Context {
    /// A registry with an image of four layers; `None` where not run by root.
    fn new(answer: Result<Credentials, &'static str>) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            abx_test::skip("owners need root");
            return None;
        }
        let dir = tempfile::tempdir().expect("tempdir");
        let store = ImageStore::open(&Home::new(dir.path()));
        let registry = LoopbackRegistry::start();
        let layers: Vec<Vec<u8>> = (0..4_u8)
            .map(|number| {
                let mut builder = tar::Builder::new(Vec::new());
                let mut header = tar::Header::new_gnu();
                header.set_size(1);
                header.set_mode(0o644);
                builder.append_data(&mut header, format!("{number}"), &[number][..]).expect("append");
                builder.into_inner().expect("finish")
            })
            .collect();
        let layers: Vec<_> = layers.iter().map(|layer| (TAR, &layer[..], digest(layer))).collect();
        registry.put_image("team/app", "1", &json!({ "architecture": "amd64", "os": "linux" }), &layers);
        let source = Arc::new(Source { answer, asked: AtomicUsize::new(0) });
        Some(Self { _dir: dir, store, registry, source })
    }

    fn pull(&self) -> Result<Image, ImageError> {
        let name = format!("{}/team/app:1", self.registry.host());
        let platform = Platform::parse("linux/amd64").expect("a platform");
        let source: Arc<dyn CredentialSource> = Arc::<Source>::clone(&self.source);
        let settings = RegistrySettings { credentials: Some(source), ..RegistrySettings::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        runtime.block_on(pull(&self.store, &name, &platform, &settings, &Silent))
    }

    fn asked(&self) -> usize {
        self.source.asked.load(Ordering::Relaxed)
    }

    fn tokens(&self) -> usize {
        self.registry.requests().iter().filter(|request| request.path.contains("/token")).count()
    }
}

fn ann() -> Credentials {
    Credentials::password("ann", "pw")
}

#[test]
fn nobody_is_asked_for_a_log_in_that_no_registry_wants() {
    let Some(context) = Context::new(Err("it failed")) else { return };
    context.pull().expect("anonymous");
    assert_eq!(context.asked(), 0);
    context.registry.require(Login::Token { user: None });
    assert_eq!(context.pull().expect_err("now it is").code(), Code::RegistryLogin);
    assert_eq!(context.asked(), 1);
}

#[test]
fn layers_that_meet_an_expired_token_together_renew_it_once() {
    let Some(context) = Context::new(Ok(ann())) else { return };
    context.registry.require(Login::Token { user: Some(("ann".into(), "pw".into())) });
    // The configuration is the last thing before the layers, which are asked for at the same time.
    context.registry.expire_tokens_after("GET /v2/team/app/blobs/");
    context.pull().expect("renewed");
    assert_eq!((context.asked(), context.tokens()), (1, 2));
}

#[test]
fn identity_tokens_are_exchanged_and_never_sent_to_the_registry() {
    let Some(context) = Context::new(Ok(Credentials::Identity { token: Secret::new("hunter2") })) else {
        return;
    };
    context.registry.require(Login::Identity { token: "hunter2".into() });
    context.pull().expect("exchanged");
    for request in context.registry.requests() {
        let sent = request.header("authorization").cloned().unwrap_or_default() + &request.path;
        assert!(!sent.contains("hunter2"), "{} {}", request.method, request.path);
    }
}

#[test]
fn a_registry_that_takes_no_token_is_not_asked_for_ever() {
    let Some(context) = Context::new(Ok(ann())) else { return };
    context.registry.require(Login::Never);
    let error = context.pull().expect_err("never");
    assert_eq!(error.code(), Code::RegistryCredentials);
    assert!(error.hints()[0].contains("docker login 127.0.0.1:"), "{:?}", error.hints());
    assert!(context.registry.requests().len() <= 4);
}
