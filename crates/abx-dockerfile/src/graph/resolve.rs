//! Names → stages and images.

use std::collections::{BTreeSet, HashMap};

use super::{Link, Origin};
use crate::diagnostic::{Findings, Invalid};
use crate::globals::Globals;
use crate::instruction::Instruction;
use crate::limits::TIES;
use crate::parse::{Dockerfile, Stage};
use crate::problem::Problem;
use crate::syntax::Word;

/// The stages by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// In lower case. Of two stages with one name the later counts.
    stages: HashMap<String, usize>,
    count: usize,
}

impl Names {
    pub(super) fn of(dockerfile: &Dockerfile) -> Self {
        let mut names = Self::default();
        dockerfile.stages.iter().for_each(|stage| names.add(stage));
        names
    }

    fn add(&mut self, stage: &Stage) {
        if let Some(name) = stage.name() {
            self.stages.insert(name.to_owned(), self.count);
        }
        self.count += 1;
    }

    fn stage(&self, name: &str) -> Option<Origin> {
        self.stages.get(&name.to_lowercase()).map(|stage| Origin::Stage(*stage))
    }

    /// What a `--from` means; `None` for a number that is no stage's.
    pub(super) fn origin(&self, from: &str) -> Option<Origin> {
        if from.bytes().all(|byte| byte.is_ascii_digit()) {
            return from.parse().ok().filter(|index| *index < self.count).map(Origin::Stage);
        }
        Some(self.stage(from).unwrap_or_else(|| image(from)))
    }
}

fn image(name: &str) -> Origin {
    if name == "scratch" { Origin::Scratch } else { Origin::Image(name.to_owned()) }
}

/// Every stage with what it waits for.
pub(super) fn links(dockerfile: &Dockerfile, globals: &Globals, names: &Names) -> Result<Vec<Link>, Invalid> {
    let mut findings = Findings::new(&dockerfile.source);
    let mut earlier = Names::default();
    let triggers: Vec<Vec<&Word>> = dockerfile
        .stages
        .iter()
        .map(|stage| stage.triggers().flat_map(Instruction::origins).collect())
        .collect();
    let mut links = Vec::new();
    let mut cost = 0;
    let mut ties = 0;
    for stage in &dockerfile.stages {
        let base = base(stage, globals, &earlier, &mut cost, &mut findings);
        let platform =
            stage.from.platform.as_ref().and_then(|word| expand(word, globals, &mut cost, &mut findings));
        let mut link = Link { base, platform, after: Vec::new(), images: Vec::new() };
        let inherited: &[&Word] = match link.base {
            Origin::Stage(base) => triggers.get(base).map_or(&[], |words| words),
            _ => &[],
        };
        let own: Vec<&Word> = stage.instructions.iter().flat_map(Instruction::origins).collect();
        ties += inherited.len() + own.len();
        if ties > TIES {
            findings.fault(Problem::TooManyTies, stage.from.span);
            break;
        }
        tie(inherited.iter().chain(&own), names, &mut link, &mut findings);
        links.push(link);
        earlier.add(stage);
    }
    findings.finish().map(|_| links)
}

fn expand(word: &Word, globals: &Globals, cost: &mut usize, findings: &mut Findings<'_>) -> Option<String> {
    let text = globals.expand(word, cost);
    text.map_err(|problem| findings.fault(problem, word.span)).ok().filter(|text| !text.is_empty())
}

fn base(
    stage: &Stage,
    globals: &Globals,
    earlier: &Names,
    cost: &mut usize,
    findings: &mut Findings<'_>,
) -> Origin {
    let word = &stage.from.image;
    match globals.expand(word, cost) {
        Ok(name) if !name.trim().is_empty() => earlier.stage(&name).unwrap_or_else(|| image(&name)),
        Ok(_) => {
            findings.fault(Problem::BlankFrom { written: word.text.clone() }, word.span);
            Origin::Scratch
        }
        Err(problem) => {
            findings.fault(problem, word.span);
            Origin::Scratch
        }
    }
}

/// Adds the stages and images that `froms` name.
fn tie<'a>(
    froms: impl Iterator<Item = &'a &'a Word>,
    names: &Names,
    link: &mut Link,
    findings: &mut Findings<'_>,
) {
    let mut after = BTreeSet::new();
    if let Origin::Stage(base) = link.base {
        after.insert(base);
    }
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for from in froms {
        match names.origin(&from.text) {
            Some(Origin::Stage(stage)) => drop(after.insert(stage)),
            Some(Origin::Image(name)) if seen.insert(&from.text) => link.images.push(name),
            Some(_) => {}
            None => {
                let problem = Problem::StageIndex { index: from.text.clone(), count: names.count };
                findings.fault(problem, from.span);
            }
        }
    }
    link.after = after.into_iter().collect();
}
