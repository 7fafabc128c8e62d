//! Images of registries: what a tag or range stands for, how long that is believed, and the template in it.

use std::time::Duration;

use abx_core::{Code, Fault, Home, Silent};
use abx_source::{
    ANNOTATION, BaseImage, GithubSettings, Lineage, SourceContext, SourceError, fetch, resolve,
};
use abx_test::registry::{LoopbackRegistry, Trick, digest};
use serde_json::json;

const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: shop, version: 1.2.0}\nbase: {image: debian}\n\
                        network: {ports: [8080]}\n";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

struct World {
    _dir: tempfile::TempDir,
    registry: LoopbackRegistry,
    context: SourceContext,
    settings: GithubSettings,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("tempdir");
        let home = Home::new(dir.path().join("home"));
        let context = SourceContext::new(home, dir.path().to_owned(), None);
        let world = Self {
            _dir: dir,
            registry: LoopbackRegistry::start(),
            context,
            settings: GithubSettings::default(),
        };
        for tag in ["1.0.0", "1.2.0", "1.2.5-rc.1", "2.0.0", "latest", "stable"] {
            world.put(tag, &kept(TEMPLATE));
        }
        world
    }

    /// Puts an image that says of itself that it is this template.
    fn put(&self, tag: &str, lineage: &str) -> String {
        let descriptor = json!({ "mediaType": "x", "digest": digest(tag.as_bytes()), "size": 1 });
        let annotations = json!({ ANNOTATION: lineage });
        let manifest =
            json!({ "schemaVersion": 2, "config": descriptor, "layers": [], "annotations": annotations });
        self.registry.put_manifest("team/shop", tag, MANIFEST, &manifest)
    }

    fn reference(&self, rest: &str) -> String {
        format!("acr://{}/team/shop{rest}", self.registry.host())
    }

    fn lineage(&self, rest: &str) -> Result<Lineage, SourceError> {
        let text = self.reference(rest);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        let context = runtime.block_on(fetch(&text, &self.context, &self.settings, &Silent))?;
        resolve(&text, &context)
    }

    /// The image at the bottom, without its host.
    fn base(&self, rest: &str) -> String {
        match self.lineage(rest).expect(rest).base {
            BaseImage::Image { name, .. } => name.split_once('/').expect("a host").1.to_owned(),
            other => panic!("{other:?}"),
        }
    }

    fn requests(&self) -> usize {
        self.registry.requests().len()
    }
}

fn kept(template: &str) -> String {
    json!([{ "name": "shop", "text": template, "has_healthcheck": false }]).to_string()
}

#[test]
fn tags_and_ranges_come_to_a_digest_and_the_template_in_it() {
    let world = World::new();
    let digest = |tag: &str| world.put(tag, &kept(TEMPLATE));
    for (rest, tag) in
        [("", "latest"), (":stable", "stable"), (":^1.0", "1.2.0"), (":~1.2", "1.2.0"), (":>=1", "2.0.0")]
    {
        let shown = if rest.is_empty() { String::new() } else { format!(":{tag}") };
        assert_eq!(world.base(rest), format!("team/shop{shown}@{}", digest(tag)), "{rest}");
    }
    let lineage = world.lineage(":^1").expect("found");
    assert_eq!(lineage.effective().ports, [8080]);
    assert_eq!(lineage.leaf().expect("a template").name, "shop");
    let error = world.lineage(":^3").expect_err("none");
    assert_eq!(error.code(), Code::NoVersion);
    assert!(error.hints()[0].starts_with("there is `2.0.0`, `1.2.0`"), "{:?}", error.hints());
}

#[test]
fn what_is_known_is_believed_for_a_while_and_a_digest_for_ever() {
    let mut world = World::new();
    let first = world.base(":stable");
    let asked = world.requests();
    let moved = world.put("stable", "[]");
    assert_eq!(world.base(":stable"), first);
    assert_eq!(world.requests(), asked, "within its time nobody is asked");
    world.settings.cache_ttl = Duration::ZERO;
    assert_eq!(world.base(":stable"), format!("team/shop:stable@{moved}"));
    assert!(world.lineage(":stable").expect("found").packages.is_empty());

    let pinned = format!("@{moved}");
    world.base(&pinned);
    let asked = world.requests();
    world.base(&pinned);
    assert_eq!(world.requests(), asked);
    world.settings.no_cache = true;
    world.base(&pinned);
    assert!(world.requests() > asked);
}

#[test]
fn without_a_network_what_was_pulled_is_there() {
    let mut world = World::new();
    let first = world.base(":1.2.0");
    world.base(":1.0.0");
    let asked = world.requests();
    world.settings.offline = true;
    assert_eq!(world.base(":^1"), first, "the highest of those that are known");
    let (_, digest) = first.split_once('@').expect("a digest");
    assert_eq!(world.base(&format!("@{digest}")), format!("team/shop@{digest}"));
    assert_eq!(world.lineage(&format!("@{digest}")).expect("known").effective().ports, [8080]);
    assert_eq!(world.base(":2.0.0"), "team/shop:2.0.0", "whoever gets the image may know more");
    assert_eq!(world.lineage(":^2").expect_err("unknown").code(), Code::Offline);
    assert_eq!(world.requests(), asked);
}

#[test]
fn a_registry_out_of_reach_leaves_what_is_known() {
    let mut world = World::new();
    let first = world.base(":1.2.0");
    world.settings.cache_ttl = Duration::ZERO;
    let host = world.registry.host();
    // Nobody listens there any more.
    let gone = std::mem::replace(&mut world.registry, LoopbackRegistry::start());
    drop(gone);
    let ask = |rest: &str| {
        let text = format!("acr://{host}/team/shop{rest}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        let context = runtime.block_on(fetch(&text, &world.context, &world.settings, &Silent))?;
        resolve(&text, &context)
    };
    let known = ask(":1.2.0").expect("known").base;
    assert!(matches!(known, BaseImage::Image { name, .. } if name.ends_with(&first)));
    let unknown = ask(":1.0.0").expect("the image's own business").base;
    assert_eq!(unknown, BaseImage::Image { name: format!("{host}/team/shop:1.0.0"), place: None });
    assert_eq!(ask(":^1").expect_err("a range needs an answer").code(), Code::Unreachable);
}

#[test]
fn a_template_that_is_damaged_is_no_template() {
    let world = World::new();
    for lineage in ["", "{}", "[{\"name\": 1}]", &kept("version: \"1\"\nnonsense: true\n")] {
        world.put("bad", lineage);
        let text = world.lineage(&format!("@{}", world.put("bad", lineage))).expect_err(lineage);
        assert_eq!(text.code(), Code::SpecInvalid, "{lineage}: {text}");
    }
    world.registry.play("GET /v2/team/shop/tags", Trick::CutAfter(10), 10);
    assert_eq!(world.lineage(":^1").expect_err("no list").code(), Code::Network);
}

#[test]
fn thousands_of_tags_are_read_page_by_page() {
    let world = World::new();
    for patch in 0..450 {
        world.put(&format!("3.0.{patch}"), "[]");
    }
    assert!(world.base(":~3.0").starts_with("team/shop:3.0.449@"));
    let pages = world.registry.requests().iter().filter(|request| request.path.contains("/tags/")).count();
    assert_eq!(pages, 5);
}
