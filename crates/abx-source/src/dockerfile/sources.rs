//! The words of a Dockerfile that name files of its package, as far as they are known without a build.

use std::collections::{BTreeMap, BTreeSet};

use abx_dockerfile::{Action, Globals, Instruction, MountKind, Origin, Scope, Span, Variable, Word};

use super::Dockerfile;

/// One source, its variables filled in.
pub(super) struct Named {
    pub(super) text: String,
    pub(super) span: Span,
    /// With `--parents`, `*` and `**` reach through folders.
    pub(super) has_parents: bool,
}

/// What instructions of the stages that the target needs name for sure: each variable in it has a value in the file or
/// from the caller, whatever the images are that stages begin with.
pub(super) fn named(dockerfile: &Dockerfile) -> Vec<Named> {
    let Ok(globals) = Globals::new(&dockerfile.file, &dockerfile.inputs) else { return Vec::new() };
    let mut found = Vec::new();
    let mut ends: BTreeMap<usize, Known> = BTreeMap::new();
    for &number in &dockerfile.graph.order {
        let link = &dockerfile.graph.links[number];
        let below = match &link.base {
            Origin::Stage(below) => ends.get(below).cloned(),
            _ => None,
        };
        let start = || Known { scope: Scope::new(&globals, []), doubtful: BTreeSet::new() };
        let mut known = below.unwrap_or_else(start);
        for instruction in &dockerfile.file.stages[number].instructions {
            known.take(instruction, dockerfile, &mut found);
        }
        ends.insert(number, known);
    }
    found
}

/// What is known of a stage's variables.
#[derive(Clone)]
struct Known {
    scope: Scope,
    /// Variables whose values depend on an image.
    doubtful: BTreeSet<String>,
}

impl Known {
    fn take(&mut self, instruction: &Instruction, dockerfile: &Dockerfile, found: &mut Vec<Named>) {
        match &instruction.action {
            Action::Env(given) => {
                let given: Vec<_> =
                    given.iter().map(|Variable { name, value }| (name, Some(value))).collect();
                self.judge(&given);
            }
            Action::Arg(given) => {
                let given: Vec<_> = given.iter().map(|given| (&given.name, given.value.as_ref())).collect();
                self.judge(&given);
            }
            action if sources(action).iter().all(|(word, _)| !self.is_sure(word)) => return,
            _ => {}
        }
        // What cannot be expanded is told by the build.
        let Ok(expanded) = self.scope.expand(instruction, &dockerfile.file.source) else { return };
        for ((word, _), (filled, has_parents)) in
            sources(&instruction.action).into_iter().zip(sources(&expanded.action))
        {
            if self.is_sure(word) {
                found.push(Named { text: filled.text.clone(), span: word.span, has_parents });
            }
        }
    }

    /// Notes which of the variables that are about to be set have a value that is known.
    fn judge(&mut self, given: &[(&Word, Option<&Word>)]) {
        let sure = |value: &Option<&Word>| value.is_none_or(|value| self.is_sure(value));
        let judged: Vec<_> = given.iter().map(|(name, value)| (name.text.clone(), sure(value))).collect();
        for (name, is_sure) in judged {
            if is_sure {
                self.doubtful.remove(&name);
            } else {
                self.doubtful.insert(name);
            }
        }
    }

    /// Whether every variable in a word has a value, and that value is known.
    fn is_sure(&self, word: &Word) -> bool {
        let mut names = variables(&word.text).peekable();
        if names.peek().is_none() {
            return true;
        }
        let set: BTreeSet<&str> = self.scope.environment().map(|(name, _)| name).collect();
        names.all(|name| set.contains(name) && !self.doubtful.contains(name))
    }
}

/// The words that name files of the package, and whether `--parents` holds for them.
pub(super) fn sources(action: &Action) -> Vec<(&Word, bool)> {
    match action {
        Action::Copy(copy) if copy.from.is_none() => {
            copy.files.sources.iter().map(|source| (source, copy.parents)).collect()
        }
        Action::Add(add) => {
            let local = add.files.sources.iter().filter(|source| !source.text.contains("://"));
            local.map(|source| (source, false)).collect()
        }
        Action::Run(run) => {
            let bound = run.mounts.iter().filter_map(|mount| match &mount.kind {
                MountKind::Bind { source, from: None, .. } => Some((source, false)),
                _ => None,
            });
            bound.collect()
        }
        _ => Vec::new(),
    }
}

/// The names behind `$` in a word; one that is escaped counts as well.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    text.split('$').skip(1).map(|rest| {
        let name = rest.strip_prefix('{').unwrap_or(rest);
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        &name[..end.unwrap_or(name.len())]
    })
}

#[cfg(test)]
mod tests {
    use super::variables;

    #[test]
    fn variables_of_a_word() {
        for (text, expected) in [
            ("a/b", vec![]),
            ("$A/${B:-c}x$D", vec!["A", "B", "D"]),
            ("a$", vec![""]),
            ("${A%.*}", vec!["A"]),
        ] {
            assert_eq!(variables(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
