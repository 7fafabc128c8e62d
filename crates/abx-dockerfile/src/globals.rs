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
    /// `None` for an argument without a value.
    values: BTreeMap<String, Option<String>>,
}

impl Globals {
    /// Gives the arguments their values: the caller's, else the default, in which arguments before it may
    /// stand.
    ///
    /// # Errors
    /// Every default that cannot be expanded.
    pub fn new(dockerfile: &Dockerfile, inputs: &Inputs) -> Result<Self, Invalid> {
        let mut globals = Self { inputs: inputs.clone(), escape: dockerfile.escape, values: BTreeMap::new() };
        let mut faults = Vec::new();
        let mut cost = 0;
        for argument in &dockerfile.arguments {
            let name = &argument.name.text;
            let given = inputs.arguments.get(name).cloned();
            let value = match (given, &argument.value) {
                (Some(given), _) => Some(given),
                (None, Some(default)) => match globals.expand(default, &mut cost) {
                    Ok(text) => Some(text),
                    Err(problem) => {
                        faults.push(Diagnostic::new(problem, &dockerfile.source, default.span));
                        continue;
                    }
                },
                (None, None) => inputs.predefined(name),
            };
            globals.values.insert(name.clone(), value);
        }
        Invalid::new(faults).map_or(Ok(globals), Err)
    }

    /// The value of an argument in a `FROM`.
    pub fn value(&self, name: &str) -> Option<String> {
        match self.values.get(name) {
            Some(value) => value.clone(),
            None => self.inputs.predefined(name),
        }
    }

    /// Expands a word of a `FROM`.
    pub(crate) fn expand(&self, word: &Word, cost: &mut usize) -> Result<String, Problem> {
        let lexer = Lexer { escape: self.escape, keep_quotes: false };
        let predefined: BTreeMap<&str, String> =
            PREDEFINED.iter().filter_map(|name| Some((*name, self.inputs.predefined(name)?))).collect();
        let lookup = |name: &str| match self.values.get(name) {
            Some(value) => value.as_deref(),
            None => predefined.get(name).map(|value| &**value),
        };
        let expanded = lexer.word(&word.text, &lookup)?;
        *cost += expanded.cost;
        if *cost > STAGE_BYTES { Err(Problem::StageTooLarge) } else { Ok(expanded.text) }
    }
}

const PREDEFINED: [&str; 8] = [
    "BUILDPLATFORM",
    "BUILDOS",
    "BUILDARCH",
    "BUILDVARIANT",
    "TARGETPLATFORM",
    "TARGETOS",
    "TARGETARCH",
    "TARGETVARIANT",
];
