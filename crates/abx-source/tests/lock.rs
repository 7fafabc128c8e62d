//! What a lock holds in place.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use abx_core::{Fault, Home, Silent};
use abx_reference::Reference;
use abx_source::lock::find::{self, LockPlace};
use abx_source::lock::{Lock, LockedBase, LockedKind, describe};
use abx_source::{
    BaseImage, GithubSettings, Lineage, Release, Releases, SourceContext, SourceError, builtins, fetch, leaf,
    resolve,
};
use abx_test::github::LoopbackGithub;

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

fn template(name: &str, base: &str) -> String {
    format!("version: \"1\"\nmetadata: {{name: {name}}}\nbase: {base}\n")
}

struct World {
    dir: tempfile::TempDir,
    github: LoopbackGithub,
    settings: GithubSettings,
}

impl World {
    fn new() -> Self {
        let github = LoopbackGithub::start();
        let settings = GithubSettings { api: github.url(), ..GithubSettings::default() };
        Self { dir: tempfile::tempdir().expect("tempdir"), github, settings }
    }

    /// `./mine` inherits from `./near`, that from a branch of a repository, whose template has a parent beside it.
    fn with_lineage() -> Self {
        let world = Self::new();
        world.write("mine", &template("mine", "{from: ../near}"));
        world.write("near", &template("near", "{from: \"o/r//child\"}"));
        world.put("HEAD", ONE, "first");
        world
    }

    fn put(&self, git_ref: &str, commit: &str, content: &str) {
        let child = template("child", "{from: ../parent}");
        let parent = template("parent", "{image: \"debian:12\"}");
        self.github.put(
            "o/r",
            git_ref,
            commit,
            &[
                ("child/template.yaml", &child),
                ("child/files/content", content),
                ("parent/template.yaml", &parent),
            ],
        );
        if git_ref != "HEAD" {
            self.github.tag("o/r", git_ref, commit, false);
        }
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.dir.path().join(name)).expect("mkdir");
        fs::write(self.dir.path().join(name).join("template.yaml"), text).expect("write");
    }

    fn context(&self) -> SourceContext {
        SourceContext::new(Home::new(self.dir.path().join("home")), self.dir.path().to_owned(), None)
    }

    /// As a build leaves it: an image of this machine, and what is kept of its template.
    fn store(&self, name: &str, tag: &str, digit: char) {
        let store = self.dir.path().join("home/store");
        let kept = serde_json::json!([
            { "name": name, "text": template(name, "{image: \"debian:12\"}"), "has_healthcheck": false }
        ]);
        for (path, text) in [
            (store.join("names").join(name).join(tag), digit.to_string().repeat(64)),
            (store.join("lineages").join(name).join(format!("{tag}.json")), kept.to_string()),
        ] {
            fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
            fs::write(path, text).expect("write");
        }
    }

    /// Finds the lock as an operation does, fetches and resolves.
    async fn resolve(&self, text: &str) -> Result<(Lineage, SourceContext), SourceError> {
        self.resolve_in(self.context(), text).await
    }

    async fn resolve_in(
        &self,
        context: SourceContext,
        text: &str,
    ) -> Result<(Lineage, SourceContext), SourceError> {
        let reference = Reference::parse(text)?;
        let mut context = fetch::fetch_leaf(&reference, &context, &self.settings, &Silent).await?;
        context.lock = find::of_reference(&reference, &context)?;
        if context.lock.is_none() {
            context.lock =
                leaf(&reference, &context)?.map_or(Ok(None), |package| find::of_package(&package))?;
        }
        let context = fetch(text, &context, &self.settings, &Silent).await?;
        Ok((resolve(text, &context)?, context))
    }

    /// Writes the lock beside `./mine`.
    async fn lock(&self, base: LockedBase) -> Lock {
        let (lineage, context) = self.resolve("./mine").await.expect("resolved");
        let templates = describe(&lineage, ".", &context).expect("described");
        let lock = Lock { templates, base: Some(base) };
        fs::write(self.dir.path().join("mine/template.lock"), lock.to_string()).expect("write");
        lock
    }

    /// What has drifted, as text.
    async fn drift(&self) -> Result<String, SourceError> {
        let (lineage, context) = self.resolve("./mine").await?;
        let found = context.lock.clone().expect("a lock");
        let members = describe(&lineage, found.lock.top(), &context)?;
        let drift = found.lock.drift(&members, &lineage.base, &found.file)?;
        Ok(drift.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }
}

fn debian() -> LockedBase {
    LockedBase::Registry { image: "debian:12".to_owned(), digest: format!("sha256:{}", "a".repeat(64)) }
}

#[tokio::test]
async fn a_lock_has_the_whole_lineage_and_nothing_of_this_machine() {
    let world = World::with_lineage();
    let lock = world.lock(debian()).await;
    let members: Vec<_> = lock
        .templates
        .iter()
        .map(|template| (template.reference.as_str(), template.kind, template.commit.as_deref()))
        .collect();
    assert_eq!(
        members,
        [
            (".", LockedKind::Directory, None),
            ("../near", LockedKind::Directory, None),
            ("o/r//child", LockedKind::Github, Some(ONE)),
            ("../parent", LockedKind::Directory, None),
        ]
    );
    assert_eq!(lock.templates[0].digest, None, "the template versions with its lock");
    assert!(lock.templates[1..].iter().all(|template| template.digest.is_some()));
    let text = lock.to_string();
    let folder = world.dir.path().to_string_lossy().into_owned();
    assert!(!text.contains(&folder) && !text.contains("127.0.0.1"), "{text}");
}

#[tokio::test]
async fn a_branch_that_moves_is_had_where_it_was_locked_without_asking() {
    let mut world = World::with_lineage();
    world.lock(debian()).await;
    world.put("HEAD", TWO, "second");
    world.settings.cache_ttl = std::time::Duration::ZERO;
    let asked = world.github.requests().len();
    let (lineage, context) = world.resolve("./mine").await.expect("resolved");
    assert_eq!(context.checkouts[0].commit, ONE);
    assert_eq!(world.github.requests().len(), asked, "a locked commit is never asked for again");
    assert_eq!(lineage.locked, Some(debian()));
    assert_eq!(world.drift().await.expect("no lie"), "");
    // On a machine that has nothing, the commit is fetched, not the branch.
    fs::remove_dir_all(world.dir.path().join("home")).expect("remove");
    let (_, context) = world.resolve("./mine").await.expect("resolved");
    assert_eq!(context.checkouts[0].commit, ONE);
    fs::remove_file(world.dir.path().join("mine/template.lock")).expect("remove");
    let (_, context) = world.resolve("./mine").await.expect("resolved");
    assert_eq!(context.checkouts[0].commit, TWO);
}

#[tokio::test]
async fn what_cannot_be_held_is_named() {
    let world = World::with_lineage();
    world.lock(debian()).await;
    world.write("mine", &(template("mine", "{from: ../near}") + "network: {ports: [80]}\n"));
    assert_eq!(world.drift().await.expect("no lie"), "", "the template itself is free to change");
    world.write("near", &(template("near", "{from: \"o/r//child\"}") + "network: {ports: [80]}\n"));
    let drift = world.drift().await.expect("no lie");
    assert!(drift.starts_with("`../near`: locked sha256:"), "{drift}");
    world.write("mine", &template("mine", "{from: \"o/r//child\"}"));
    assert_eq!(
        world.drift().await.expect("no lie"),
        "the parent of `.`: locked `../near`, found `o/r//child`"
    );
    world.write("mine", &template("mine", "{image: \"debian:12\"}"));
    assert_eq!(world.drift().await.expect("no lie"), "the parent of `.`: locked `../near`, found no parent");
}

#[tokio::test]
async fn a_commit_with_another_content_is_a_lie() {
    let world = World::with_lineage();
    world.lock(debian()).await;
    fs::remove_dir_all(world.dir.path().join("home")).expect("remove");
    world.put("HEAD", ONE, "tampered with");
    let error = world.drift().await.expect_err("a lie");
    assert_eq!(error.code().as_str(), "E5022");
    assert!(error.to_string().contains("`o/r//child`"), "{error}");
}

#[tokio::test]
async fn a_range_keeps_the_tag_it_came_to() {
    let world = World::new();
    world.write("mine", &template("mine", "{from: \"o/r//child@^1\"}"));
    world.put("HEAD", ONE, "x");
    world.put("v1.0.0", ONE, "x");
    let lock = world.lock(debian()).await;
    assert_eq!(lock.templates[1].tag.as_deref(), Some("v1.0.0"));
    world.put("v1.1.0", TWO, "y");
    let (_, context) = world.resolve("./mine").await.expect("resolved");
    assert_eq!(
        (context.checkouts[0].commit.as_str(), context.checkouts[0].chosen.as_deref()),
        (ONE, Some("v1.0.0"))
    );
    assert_eq!(world.drift().await.expect("no lie"), "");
}

#[tokio::test]
async fn a_fetched_package_is_held_by_its_own_lock_and_one_of_the_working_directory_goes_before() {
    let world = World::new();
    world.put("HEAD", ONE, "x");
    let top = template("top", "{from: \"o/r//child\"}");
    let own = |commit: &str| {
        format!(
            "version = 1\n\n[[template]]\nreference = \".\"\nkind = \"directory\"\nname = \"top\"\nparent = \"o/r//child\"\n\n\
             [[template]]\nreference = \"o/r//child\"\nkind = \"github\"\nname = \"child\"\ncommit = \"{commit}\"\n\
             digest = \"sha256:{}\"\n\n[base]\nimage = \"debian:12\"\ndigest = \"sha256:{}\"\n",
            "0".repeat(64),
            "a".repeat(64)
        )
    };
    world.put("HEAD", TWO, "y");
    world.github.put("p/q", "HEAD", ONE, &[("template.yaml", &top), ("template.lock", &own(ONE))]);
    let (_, context) = world.resolve("p/q").await.expect("resolved");
    let commit = |context: &SourceContext| {
        let checkout = context.checkouts.iter().find(|checkout| checkout.reference.owner() == "o");
        checkout.expect("the parent").commit.clone()
    };
    assert_eq!(commit(&context), ONE);
    let (file, is_apart) = context.lock.map(|found| (found.file, found.is_apart)).expect("its own lock");
    assert_eq!((file.as_str(), is_apart), ("p/q/template.lock", false));
    // That of the working directory is of `p/q` itself.
    let apart = own(TWO).replacen(
        "reference = \".\"\nkind = \"directory\"",
        &format!(
            "reference = \"p/q\"\nkind = \"github\"\ncommit = \"{ONE}\"\ndigest = \"sha256:{}\"",
            "0".repeat(64)
        ),
        1,
    );
    fs::write(world.dir.path().join("template.lock"), &apart).expect("write");
    let (_, context) = world.resolve("p/q").await.expect("resolved");
    assert_eq!(commit(&context), TWO);
    assert!(context.lock.is_some_and(|found| found.is_apart));
    // One of something else says nothing.
    fs::write(world.dir.path().join("template.lock"), apart.replace("\"p/q\"", "\"p/other\""))
        .expect("write");
    let (_, context) = world.resolve("p/q").await.expect("resolved");
    assert_eq!(commit(&context), ONE);
}

#[tokio::test]
async fn what_is_no_lock_is_refused_and_what_is_no_file_is_none() {
    let world = World::with_lineage();
    let path = world.dir.path().join("mine/template.lock");
    fs::write(&path, "version = 1\n[[template]]\nreference = 1\n").expect("write");
    let error = world.resolve("./mine").await.expect_err("malformed");
    let snippet = &error.snippets()[0];
    assert_eq!(
        (error.code().as_str(), snippet.file.as_str(), snippet.line, snippet.column),
        ("E2004", "./mine/template.lock", 3, 13)
    );
    fs::write(&path, [0xff, 0xfe]).expect("write");
    assert_eq!(world.resolve("./mine").await.expect_err("no text").code().as_str(), "E4000");
    fs::remove_file(&path).expect("remove");
    fs::create_dir(&path).expect("mkdir");
    assert!(world.resolve("./mine").await.expect("resolved").1.lock.is_none());
}

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

#[test]
fn a_place_is_beside_the_template_or_in_the_working_directory() {
    let world = World::with_lineage();
    let context = world.context();
    let reference = Reference::parse("https://github.com/o/r/tree/main/t").expect("a reference");
    let place = LockPlace::of_reference(&reference, &context);
    assert_eq!((place.display.as_str(), place.top.as_str()), ("template.lock", "o/r//t@main"));
    let package =
        leaf(&Reference::parse("./mine/").expect("a path"), &context).expect("read").expect("a package");
    let place = LockPlace::of_package(&package).expect("a directory");
    assert_eq!((place.display.as_str(), place.top.as_str()), ("./mine/template.lock", "."));
}
