//! The variables of a stage, and its instructions with them filled in.

mod expand;
mod variables;

use crate::diagnostic::{Diagnostic, Invalid};
use crate::globals::Globals;
use crate::instruction::Instruction;
use crate::source::Source;
use variables::Variables;

/// What a stage knows at one of its instructions. A stage that builds on another begins with a clone of that
/// one's last scope.
///
/// `ARG` and `ENV` of one name: the later wins. An `ARG` without a default takes the value of the one before
/// the first `FROM`, and does nothing where there is none.
#[derive(Clone, Debug)]
pub struct Scope {
    globals: Globals,
    variables: Variables,
    /// Spent of the bytes that all words may come to.
    cost: usize,
}

impl Scope {
    /// The scope at the beginning of a stage; `environment` is that of the base image.
    pub fn new<'a>(globals: &Globals, environment: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut variables = Variables::default();
        for (name, value) in environment {
            variables.set_environment(name, value.to_owned());
        }
        Self { globals: globals.clone(), variables, cost: 0 }
    }

    /// The instruction with variables, quotes and escapes resolved, and checked where it could not be before.
    /// `ARG` and `ENV` take effect. Commands stay as they are: their shell expands them. So does `ONBUILD`.
    /// `source` is what the instruction was parsed from.
    ///
    /// # Errors
    /// A word that cannot be expanded or that means nothing once it is.
    pub fn expand(&mut self, instruction: &Instruction, source: &Source) -> Result<Instruction, Invalid> {
        let action = expand::action(self, source, &instruction.action);
        let action =
            action.map_err(|(problem, span)| Invalid::from(Diagnostic::new(problem, source, span)))?;
        Ok(Instruction { action, ..instruction.clone() })
    }

    /// The environment the image has so far.
    pub fn image_environment(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.image()
    }

    /// The environment of a command at this place: the image's and the arguments'. The proxies of
    /// [`Inputs::proxies`](crate::Inputs::proxies) come on top.
    pub fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.all()
    }

    /// The arguments among [`Scope::environment`], which are not the image's.
    pub fn arguments(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.arguments()
    }
}
