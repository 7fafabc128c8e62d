//! What can go wrong with a named command.

use std::time::Duration;

use abx_client::ClientError;
use abx_core::{Code, Fault};

use super::NamedCommand;

/// Why a named command has no value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// Nothing is registered under the name.
    #[error("no command `{name}` in this sandbox")]
    Unknown { name: String, available: Vec<String> },
    /// Arguments are missing, unknown or of another type.
    #[error("`{name}` does not take these arguments: {problem}")]
    Arguments { name: String, problem: String, signature: Option<String> },
    /// The command itself failed.
    #[error("`{name}` failed: {kind}: {message}")]
    Raised { name: String, kind: String, message: String },
    /// Its time is up.
    #[error("`{name}` was given up after {} s", limit.as_secs_f64())]
    Timeout { name: String, limit: Duration },
    /// The service that has the commands does not come up.
    #[error("the sandbox's named commands cannot be had: {message}")]
    Service { message: String },
    /// The service ended in the middle of the call, by the command's doing most likely.
    #[error("the service of named commands ended during `{name}`")]
    Ended { name: String, source: ClientError },
    /// The service does not let us.
    #[error("the service of named commands refuses: {message}")]
    Refused { message: String },
    /// What answers is no such service.
    #[error("port {port} of the sandbox does not answer as a service of named commands: {what}")]
    Malformed { port: u16, what: String },
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl CommandError {
    /// Knows what the command takes, where it is one of `commands`.
    pub(super) fn with_signature(mut self, commands: &[NamedCommand]) -> Self {
        if let Self::Arguments { name, signature, .. } = &mut self {
            let command = commands.iter().find(|command| command.name == *name);
            *signature = command.map(NamedCommand::to_string);
        }
        self
    }
}

impl Fault for CommandError {
    fn code(&self) -> Code {
        match self {
            Self::Unknown { .. } => Code::NoCommand,
            Self::Timeout { .. } => Code::ExecTimeout,
            Self::Refused { .. } | Self::Malformed { .. } => Code::GuestRefused,
            Self::Client(error) => error.code(),
            _ => Code::Execution,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Unknown { available, .. } if available.is_empty() => {
                vec!["register functions in the template's `commands.py` with `@sandbox.register`".into()]
            }
            Self::Unknown { name, available } => {
                let near = nearest(name, available).map(|near| format!("did you mean `{near}`?"));
                near.into_iter().chain([format!("there are {}", available.join(", "))]).collect()
            }
            Self::Arguments { signature: Some(signature), .. } => vec![format!("it takes {signature}")],
            Self::Raised { .. } | Self::Service { .. } => {
                vec!["`abx logs` shows where, and what it printed".into()]
            }
            Self::Timeout { .. } => vec!["give it more with --timeout, or 0 for no limit".into()],
            Self::Ended { .. } => {
                vec!["it starts again with the next call; `abx logs` shows what it said last".into()]
            }
            Self::Refused { .. } => vec![
                "where the template guards its service, set ABX_SERVER_TOKEN in `build.env` or at create"
                    .into(),
            ],
            Self::Client(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}

/// The name that is most like `word`, if one is like it at all.
fn nearest<'a>(word: &str, names: &'a [String]) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1);
    let far = |name: &&String| strsim::osa_distance(&word.to_lowercase(), &name.to_lowercase());
    names.iter().min_by_key(far).filter(|name| far(name) <= allowed).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_is_told_the_near_one_and_all() {
        let available = vec!["greet".to_owned(), "add".to_owned()];
        let hints =
            |name: &str| CommandError::Unknown { name: name.into(), available: available.clone() }.hints();
        assert_eq!(hints("gret"), ["did you mean `greet`?", "there are greet, add"]);
        assert_eq!(hints("resize"), ["there are greet, add"]);
        let none = CommandError::Unknown { name: "x".into(), available: Vec::new() };
        assert!(none.hints()[0].contains("@sandbox.register"), "{:?}", none.hints());
    }
}
