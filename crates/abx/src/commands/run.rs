use std::time::Duration;

use agent_sandbox::Error;
use agent_sandbox::commands::{CommandError, Words};
use serde_json::Value;

use super::Edge;
use super::hits::Before;
use crate::Failure;
use crate::cli::RunArgs;

/// Calls a named command and prints its value.
pub(super) async fn run(edge: &Edge, args: RunArgs) -> Result<u8, Failure> {
    let sandbox = super::awake(edge, &args.id).await?;
    let words = Words {
        text: args.words.into_iter().map(|word| (word.key, word.value)).collect(),
        json: args.values.into_iter().map(|word| (word.key, word.value)).collect(),
    };
    let before = Before::of(&sandbox).await;
    let called = sandbox.run_with_words(&args.name, &words, Duration::from_secs(args.timeout)).await;
    let value = match called {
        Ok(value) => value,
        Err(error) => {
            let hit = if is_its_own(&error) {
                before.explain_failure(&sandbox, error.to_string()).await
            } else {
                None
            };
            return Err(hit.map_or_else(|| advise(error), Failure::from));
        }
    };
    edge.printer.result(&value, &text(&value))?;
    Ok(0)
}

/// Text as it is, nothing for nothing, anything else as JSON to read.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => format!("{other:#}"),
    }
}

/// Whether what the command did is what failed.
fn is_its_own(error: &Error) -> bool {
    matches!(error, Error::Command(CommandError::Raised { .. } | CommandError::Ended { .. }))
}

/// Wrong arguments are a wrong command line.
fn advise(error: Error) -> Failure {
    match &error {
        Error::Command(wrong @ CommandError::Arguments { signature, .. }) => {
            let tip = signature.as_ref().map(|signature| format!("\n\n  tip: it takes {signature}"));
            Failure::usage(format!("{wrong}{}", tip.unwrap_or_default()))
        }
        _ => error.into(),
    }
}
