//! Which stages a target needs, and which of them wait for which.

mod cycle;
mod resolve;

use std::collections::BTreeSet;

use crate::diagnostic::{Diagnostic, Invalid};
use crate::globals::Globals;
use crate::near::nearest;
use crate::parse::Dockerfile;
use crate::problem::Problem;
use crate::source::Span;

/// What a stage begins with, or what it copies or mounts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nothing at all: `scratch`.
    Scratch,
    /// The image of that name.
    Image(String),
    /// The stage of that number.
    Stage(usize),
}

/// A stage among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub base: Origin,
    /// `--platform` of its `FROM`.
    pub platform: Option<String>,
    /// The stages it waits for, in ascending order: its base, and what it copies or mounts from.
    pub after: Vec<usize>,
    /// Images it copies or mounts from, in order of their first use.
    pub images: Vec<String>,
}

/// The stages of a file and what ties them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// One for each stage of the file.
    pub links: Vec<Link>,
    /// The number of the stage that becomes the image.
    pub target: usize,
    /// The stages the target needs and itself, each behind those it waits for.
    pub order: Vec<usize>,
    names: resolve::Names,
}

impl Graph {
    /// Resolves every `FROM` and `--from`. `target` is the name or number of a stage, the last one where
    /// absent. A name in `FROM` means an earlier stage, one in `--from` any stage; every other name is an
    /// image's.
    ///
    /// # Errors
    /// A blank `FROM`, a number that is no stage's, stages that wait for each other, an unknown target.
    pub fn new(dockerfile: &Dockerfile, globals: &Globals, target: Option<&str>) -> Result<Self, Invalid> {
        let names = resolve::Names::of(dockerfile);
        let links = resolve::links(dockerfile, globals, &names)?;
        if let Some(cycle) = cycle::find(&links) {
            return Err(cyclic(dockerfile, &cycle).into());
        }
        let target = match target {
            None => links.len().saturating_sub(1),
            Some(target) => find(dockerfile, &names, target)?,
        };
        let order = cycle::order(&links, target);
        Ok(Self { links, target, order, names })
    }

    /// What a `--from` of the file means, and the `from` of a mount.
    pub fn origin(&self, from: &str) -> Origin {
        self.names.origin(from).unwrap_or_else(|| Origin::Image(from.to_owned()))
    }

    /// [`Graph::order`] in waves: the stages of one wave wait for earlier waves alone, so they may be built at
    /// the same time.
    pub fn waves(&self) -> Vec<Vec<usize>> {
        let mut depths = vec![0; self.links.len()];
        let mut waves: Vec<Vec<usize>> = Vec::new();
        for &stage in &self.order {
            let depth = self.links[stage].after.iter().map(|before| depths[*before] + 1).max().unwrap_or(0);
            depths[stage] = depth;
            if depth == waves.len() {
                waves.push(Vec::new());
            }
            waves[depth].push(stage);
        }
        waves
    }

    /// Every image the target needs: bases, and what is copied or mounted from.
    pub fn images(&self) -> BTreeSet<&str> {
        let links = || self.order.iter().map(|stage| &self.links[*stage]);
        let bases = links().filter_map(|link| match &link.base {
            Origin::Image(name) => Some(&**name),
            _ => None,
        });
        bases.chain(links().flat_map(|link| link.images.iter().map(|name| &**name))).collect()
    }
}

fn find(dockerfile: &Dockerfile, names: &resolve::Names, target: &str) -> Result<usize, Invalid> {
    if let Some(Origin::Stage(stage)) = names.origin(target) {
        return Ok(stage);
    }
    let known: Vec<String> =
        dockerfile.stages.iter().filter_map(|stage| stage.name()).map(str::to_owned).collect();
    let near = nearest(target, known.iter().map(|name| &**name)).map(str::to_owned);
    let problem = Problem::Target { name: target.to_owned(), near, known };
    let place = dockerfile.stages.first().map(|stage| stage.from.span).unwrap_or_default();
    Err(Diagnostic::new(problem, &dockerfile.source, place).into())
}

fn cyclic(dockerfile: &Dockerfile, cycle: &[usize]) -> Diagnostic {
    let name = |stage: &usize| {
        let own = dockerfile.stages.get(*stage).and_then(|stage| stage.name());
        own.map_or_else(|| stage.to_string(), |name| format!("`{name}`"))
    };
    let first = cycle.first().copied().unwrap_or_default();
    let path: Vec<String> = cycle.iter().chain(cycle.first()).take(12).map(name).collect();
    let span = dockerfile.stages.get(first).map_or(Span::default(), |stage| stage.from.span);
    let problem = Problem::Cycle { stage: name(&first), path: path.join(" → ") };
    Diagnostic::new(problem, &dockerfile.source, span)
}
