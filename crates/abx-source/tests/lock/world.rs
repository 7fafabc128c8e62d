//! Templates of a folder and of a GitHub on the loopback, and their lock.

use std::fs;

use abx_core::{Home, Silent};
use abx_reference::Reference;
use abx_source::lock::{Lock, LockedBase, describe, find};
use abx_source::{GithubSettings, Lineage, SourceContext, SourceError, fetch, resolve};
use abx_test::github::LoopbackGithub;

pub(crate) const ONE: &str = "1111111111111111111111111111111111111111";
pub(crate) const TWO: &str = "2222222222222222222222222222222222222222";

pub(crate) fn template(name: &str, base: &str) -> String {
    format!("version: \"1\"\nmetadata: {{name: {name}}}\nbase: {base}\n")
}

pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) github: LoopbackGithub,
    pub(crate) settings: GithubSettings,
}

impl World {
    pub(crate) fn new() -> Self {
        let github = LoopbackGithub::start();
        let settings = GithubSettings { api: github.url(), ..GithubSettings::default() };
        Self { dir: tempfile::tempdir().expect("tempdir"), github, settings }
    }

    /// `./mine` inherits from `./near`, that from a branch of a repository, whose template has a parent beside it.
    pub(crate) fn with_lineage() -> Self {
        let world = Self::new();
        world.write("mine", &template("mine", "{from: ../near}"));
        world.write("near", &template("near", "{from: \"o/r//child\"}"));
        world.put("HEAD", ONE, "first");
        world
    }

    pub(crate) fn put(&self, git_ref: &str, commit: &str, content: &str) {
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

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.dir.path().join(name)).expect("mkdir");
        fs::write(self.dir.path().join(name).join("template.yaml"), text).expect("write");
    }

    pub(crate) fn context(&self) -> SourceContext {
        SourceContext::new(Home::new(self.dir.path().join("home")), self.dir.path().to_owned(), None)
    }

    /// As a build leaves it: an image of this machine, and what is kept of its template.
    pub(crate) fn store(&self, name: &str, tag: &str, digit: char) {
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
    pub(crate) async fn resolve(&self, text: &str) -> Result<(Lineage, SourceContext), SourceError> {
        self.resolve_in(self.context(), text).await
    }

    pub(crate) async fn resolve_in(
        &self,
        context: SourceContext,
        text: &str,
    ) -> Result<(Lineage, SourceContext), SourceError> {
        let reference = Reference::parse(text)?;
        let context = find::hold(&reference, &context, &self.settings, &Silent).await?;
        let context = fetch(text, &context, &self.settings, &Silent).await?;
        Ok((resolve(text, &context)?, context))
    }

    /// Writes the lock beside `./mine`.
    pub(crate) async fn lock(&self, base: LockedBase) -> Lock {
        let (lineage, context) = self.resolve("./mine").await.expect("resolved");
        let templates = describe(&lineage, ".", &context).expect("described");
        let lock = Lock { templates, base: Some(base), images: Vec::new() };
        fs::write(self.dir.path().join("mine/template.lock"), lock.to_string()).expect("write");
        lock
    }

    /// What has drifted, as text.
    pub(crate) async fn drift(&self) -> Result<String, SourceError> {
        let (lineage, context) = self.resolve("./mine").await?;
        let found = context.lock.clone().expect("a lock");
        let members = describe(&lineage, found.lock.top(), &context)?;
        let drift = found.lock.drift(&members, &lineage.base, &found.file)?;
        Ok(drift.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }
}

pub(crate) fn debian() -> LockedBase {
    LockedBase::Registry { image: "debian:12".to_owned(), digest: format!("sha256:{}", "a".repeat(64)) }
}
