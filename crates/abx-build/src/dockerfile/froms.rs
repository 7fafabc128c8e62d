//! The images a Dockerfile needs, before anything is built.

use std::collections::BTreeMap;

use abx_core::Snippet;
use abx_dockerfile::{Dockerfile, Globals, Graph, Instruction, Invalid, Origin, Platform, Stage};

use super::request::inputs;

/// An image that a build needs, a stage's start or the origin of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededImage {
    /// As the file writes it, variables filled in: the name in [`DockerfileRequest::bases`](crate::DockerfileRequest).
    pub name: String,
    /// Where the file names it first.
    pub snippet: Snippet,
    /// `--platform` of its `FROM`; `None` for the one the build is for.
    pub platform: Option<String>,
    /// Whether the image that is built begins with it.
    pub is_base: bool,
}

/// The images that the stages which `target` needs start from, copy from or mount from, in the order of their names.
///
/// # Errors
/// Everything that is wrong with the file's arguments, its stages and how they are tied.
pub fn froms(
    file: &Dockerfile,
    build_args: &[(String, String)],
    platform: &Platform,
    target: Option<&str>,
) -> Result<Vec<NeededImage>, Invalid> {
    let globals = Globals::new(file, &inputs(build_args, platform))?;
    let graph = Graph::new(file, &globals, target)?;
    let root = root(&graph);
    let mut needed: BTreeMap<String, NeededImage> = BTreeMap::new();
    for &number in &graph.order {
        let (link, stage) = (&graph.links[number], &file.stages[number]);
        if let Origin::Image(name) = &link.base {
            let is_base = root == number;
            let snippet = file.source.snippet(stage.from.image.span);
            let image = NeededImage { name: name.clone(), snippet, platform: link.platform.clone(), is_base };
            needed.entry(name.clone()).and_modify(|known| known.is_base |= is_base).or_insert(image);
        }
        for name in &link.images {
            let snippet = file.source.snippet(place(stage, name));
            let image = NeededImage { name: name.clone(), snippet, platform: None, is_base: false };
            needed.entry(name.clone()).or_insert(image);
        }
    }
    Ok(needed.into_values().collect())
}

/// The stage at the bottom of the target.
fn root(graph: &Graph) -> usize {
    let mut stage = graph.target;
    while let Origin::Stage(below) = graph.links[stage].base {
        stage = below;
    }
    stage
}

/// Where a stage takes files from the image `name`; for what a trigger takes its `FROM`.
fn place(stage: &Stage, name: &str) -> abx_dockerfile::Span {
    let mut words = stage.instructions.iter().flat_map(Instruction::origins);
    words.find(|word| word.text == name).map_or(stage.from.span, |word| word.span)
}
