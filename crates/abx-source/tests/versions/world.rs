//! A GitHub on the loopback whose `o/r` has tags, and a home.

use std::time::Duration;

use abx_core::{Fault, Home, Silent};
use abx_reference::{Github, Reference};
use abx_source::github::{Pinned, pin};
use abx_source::{GithubError, GithubSettings, SourceContext, SourceError, fetch, resolve};
use abx_test::github::LoopbackGithub;

pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) github: LoopbackGithub,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("tempdir"), github: LoopbackGithub::start() }
    }

    /// With `o/r` that has these tags, the default branch being commit 1.
    pub(crate) fn with(tags: &[(&str, u32)]) -> Self {
        let world = Self::new();
        world.publish("HEAD", 1, "hello");
        for (name, number) in tags {
            world.publish(name, *number, "hello");
            world.github.tag("o/r", name, &commit(*number), false);
        }
        world
    }

    /// With a thousand tags `v1.0.0` to `v1.99.9`, of which the last is commit 2.
    pub(crate) fn with_a_thousand(is_annotated: bool) -> Self {
        let world = Self::with(&[]);
        world.publish("v1.99.9", 2, "hello");
        for number in 0..1000 {
            let name = format!("v1.{}.{}", number / 10, number % 10);
            let number = if number == 999 { 2 } else { 1000 + number };
            world.github.tag("o/r", &name, &commit(number), is_annotated);
        }
        world
    }

    pub(crate) fn publish(&self, git_ref: &str, number: u32, name: &str) {
        self.github.put(
            "o/r",
            git_ref,
            &commit(number),
            &[("template.yaml", &template(name, "image: debian"))],
        );
    }

    pub(crate) fn home(&self) -> Home {
        Home::new(self.dir.path().join("home"))
    }

    pub(crate) fn settings(&self) -> GithubSettings {
        GithubSettings { api: self.github.url(), ..GithubSettings::default() }
    }

    pub(crate) fn stale(&self) -> GithubSettings {
        GithubSettings { cache_ttl: Duration::ZERO, ..self.settings() }
    }

    pub(crate) async fn pin(&self, text: &str, settings: &GithubSettings) -> Result<Pinned, GithubError> {
        pin(&github(text), &self.home(), settings).await
    }

    /// `NAME COMMIT`, or `CODE message`.
    pub(crate) async fn picture(&self, text: &str, settings: &GithubSettings) -> String {
        match self.pin(text, settings).await {
            Ok(pinned) => format!(
                "{}{} {}",
                if pinned.is_chosen { "*" } else { "" },
                pinned.name.as_deref().unwrap_or("default"),
                pinned.commit.trim_start_matches('0')
            ),
            Err(error) => {
                let said = format!("{} {error}", error.code());
                said.replace(&self.github.url()[7..], "HOST")
            }
        }
    }

    /// As `picture`, with what it costs in requests.
    pub(crate) async fn costs(&self, text: &str, settings: &GithubSettings) -> (String, usize) {
        let before = self.github.requests().len();
        (self.picture(text, settings).await, self.github.requests().len() - before)
    }

    /// Fetches and resolves; the lineage as `name@commit`, leaf first.
    pub(crate) async fn lineage(
        &self,
        text: &str,
        settings: &GithubSettings,
    ) -> Result<Vec<String>, SourceError> {
        let context = SourceContext::new(self.home(), self.dir.path().to_owned(), None);
        let lineage = resolve(text, &fetch(text, &context, settings, &Silent).await?)?;
        Ok(lineage.packages.iter().rev().map(|package| package.display.clone()).collect())
    }
}

pub(crate) fn commit(number: u32) -> String {
    format!("{number:040}")
}

pub(crate) fn template(name: &str, base: &str) -> String {
    format!("version: \"1\"\nmetadata: {{name: {name}}}\nbase: {{{base}}}\n")
}

pub(crate) fn github(text: &str) -> Github {
    match Reference::parse(text) {
        Ok(Reference::Github(github)) => github,
        other => panic!("{text} is {other:?}"),
    }
}
