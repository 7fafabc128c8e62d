//! Names of stages that are most likely slips.

use std::collections::HashMap;

use crate::diagnostic::Findings;
use crate::near::nearest;
use crate::parse::Stage;
use crate::problem::Problem;
use crate::syntax::Word;

/// Files with more names are a program's work, and no person misspells them.
const NAMES: usize = 200;

/// Warns of a name that two stages have, and of an image that is called almost as a stage is.
pub(crate) fn stage_names(stages: &[Stage], findings: &mut Findings<'_>) {
    let mut names: HashMap<&str, usize> = HashMap::new();
    for name in stages.iter().filter_map(|stage| stage.from.name.as_ref()) {
        let line = findings.source().line_at(name.span.start);
        if let Some(line) = names.insert(&name.text, line) {
            findings.warn(Problem::StageTwice { name: name.text.clone(), line }, name.span);
        }
    }
    if names.is_empty() || names.len() > NAMES {
        return;
    }
    let mut known: Vec<&str> = names.into_keys().collect();
    known.sort_unstable();
    let instructions = || stages.iter().flat_map(|stage| &stage.instructions);
    for word in instructions().flat_map(|instruction| instruction.origins()) {
        if let Some(near) = slip(word, &known) {
            findings.warn(Problem::AlmostStage { name: word.text.clone(), near: near.to_owned() }, word.span);
        }
    }
}

/// The stage that is meant by a name that is close to one, and could be an image's only by its letters.
fn slip<'a>(word: &Word, known: &[&'a str]) -> Option<&'a str> {
    let is_bare = !word.text.contains(['/', ':', '@', '.', '$']);
    let is_stage = known.iter().any(|name| name.eq_ignore_ascii_case(&word.text));
    if is_bare && !is_stage { nearest(&word.text, known.iter().copied()) } else { None }
}
