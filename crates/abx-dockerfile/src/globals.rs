//! The arguments before the first `FROM`, with their values.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Invalid};
use crate::expand::Lexer;
use crate::inputs::Inputs;
use crate::limits::STAGE_BYTES;
use crate::parse::Dockerfile;
use crate::problem::Problem;
use crate::syntax::Word;

/// What every `FROM` knows, and what an `ARG` without a default takes within a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Globals {
    pub(crate) inputs: Inputs,
    pub(crate) escape: char,
    /// Those there always are, and those of the file; `None` for one without a value.
    values: BTreeMap<String, Option<String>>,
}

impl Globals {
    /// Gives the arguments their values: the caller's, else the default, in which arguments before it may
    /// stand.
    ///
    /// # Errors
    /// Every default that cannot be expanded.
    pub fn new(dockerfile: &Dockerfile, inputs: &Inputs) -> Result<Self, Invalid> {
        let predefined = inputs.predefined().map(|(name, value)| (name.to_owned(), Some(value)));
        let values = predefined.collect();
        let mut globals = Self { inputs: inputs.clone(), escape: dockerfile.escape, values };
        let mut faults = Vec::new();
        let mut cost = 0;
        for argument in &dockerfile.arguments {
            let name = &argument.name.text;
            let value = match (inputs.arguments.get(name), &argument.value) {
                (Some(given), _) => Some(given.clone()),
                (None, Some(default)) => match globals.expand(default, &mut cost) {
                    Ok(text) => Some(text),
                    Err(problem) => {
                        faults.push(Diagnostic::new(problem, &dockerfile.source, default.span));
                        continue;
                    }
                },
                (None, None) => globals.value(name).map(str::to_owned),
            };
            globals.values.insert(name.clone(), value);
        }
        Invalid::new(faults).map_or(Ok(globals), Err)
    }

    /// The value of an argument in a `FROM`.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(|value| value.as_deref())
    }

    /// Expands a word of a `FROM`.
    pub(crate) fn expand(&self, word: &Word, cost: &mut usize) -> Result<String, Problem> {
        let lexer = Lexer { escape: self.escape, keep_quotes: false };
        let expanded = lexer.word(&word.text, &|name| self.value(name))?;
        *cost += expanded.cost;
        if *cost > STAGE_BYTES { Err(Problem::StageTooLarge) } else { Ok(expanded.text) }
    }
}
