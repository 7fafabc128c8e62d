//! A command that fails for lack of a token for GitHub: on a terminal one is asked for, and the command run again.

use std::ffi::OsString;
use std::io::IsTerminal;

use agent_sandbox::config::Config;
use agent_sandbox::core::Secret;
use agent_sandbox::settings::secrets::SecretKey;
use agent_sandbox::{Context, TokenSource, TokenWanted};
use clap::Parser;

use super::dispatch;
use crate::cli::Cli;
use crate::output::Printer;
use crate::{Failure, prompt, terminal};

/// The secret that it is.
const KEY: &str = "github_token";
/// How often a line that is no token is asked for again.
const TRIES: usize = 3;

/// Asks for the token that would have prevented `failure` and runs the command once more. The token is stored when
/// GitHub has accepted it. The same failure comes back where there is nobody to ask, or none is given.
pub(super) fn guide(printer: &Printer, words: &[OsString], failure: Failure) -> Result<u8, Failure> {
    let Some(secret) = agent_sandbox::config::secret(KEY) else { return Err(failure) };
    let Some(token) = offer(printer, words, &failure, secret) else { return Err(failure) };
    let Ok(cli) = Cli::try_parse_from(words) else { return Err(failure) };
    let result = dispatch(*printer, cli.command, Some(&token));
    if is_accepted(&result) {
        match Config::from_env().store(secret, &token) {
            Ok(changed) => printer.note(&format!("stored the token in {}", changed.file.display())),
            Err(error) => printer.warning(&format!("the token is not stored: {error}")),
        }
    }
    result
}

/// Whether GitHub has had its say, and has not refused.
fn is_accepted(result: &Result<u8, Failure>) -> bool {
    match result {
        Ok(_) => true,
        Err(failure @ Failure::Fault(_)) => fault(failure).is_some_and(|error| !error.is_of_github()),
        Err(_) => false,
    }
}

fn offer(
    printer: &Printer,
    words: &[OsString],
    failure: &Failure,
    secret: &'static SecretKey,
) -> Option<Secret> {
    if printer.silent() || !is_attended() || has_token_option(words) {
        return None;
    }
    let wanted = fault(failure)?.wants_token()?;
    let context = Context::from_env().ok()?;
    // A token that comes from elsewhere would go before the one that we would store.
    let is_stored = matches!(agent_sandbox::token_source(&context), None | Some(TokenSource::Stored));
    if !is_stored {
        return None;
    }
    let (why, what) = explain(&wanted);
    printer.talk(&format!("{why}\n{what}"));
    printer.talk(&format!("Make one at {}", agent_sandbox::token_page(&context.github_api)));
    for _ in 0..TRIES {
        let answer = prompt::masked("GitHub token (Enter for none): ").ok()??;
        if answer.expose().trim().is_empty() {
            return None;
        }
        match secret.read(answer.expose()) {
            Ok(token) => return Some(token),
            Err(reason) => printer.talk(&format!("this does not look like a token: {reason}")),
        }
    }
    None
}

/// Two lines: what has happened, and what a token would change.
fn explain(wanted: &TokenWanted) -> (String, &'static str) {
    const READ: &str = "A token that may read its contents, and nothing else, is enough.";
    match wanted {
        TokenWanted::Limit { host } => (
            format!("{host} answers 60 requests an hour without a token, and they are used up."),
            "With a token it answers 5000. It needs no permission at all for public repositories.",
        ),
        TokenWanted::Hidden { host, repository } => (
            format!("{host} shows no `{repository}` without a token: it is private, or there is none."),
            READ,
        ),
        TokenWanted::Refused { host, repository } => {
            (format!("{host} refuses the stored token for `{repository}`: it may have expired."), READ)
        }
        TokenWanted::Malformed => ("The stored token has letters that no token has.".to_owned(), READ),
    }
}

/// Whether somebody sits before it.
fn is_attended() -> bool {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    !is_ci && terminal::stdin_is_terminal() && std::io::stderr().is_terminal()
}

/// Whether the caller has named a token.
fn has_token_option(words: &[OsString]) -> bool {
    let ours = words.iter().take_while(|word| *word != "--");
    ours.filter_map(|word| word.to_str()).any(|word| word == "--token" || word.starts_with("--token="))
}

fn fault(failure: &Failure) -> Option<&agent_sandbox::Error> {
    let Failure::Fault(fault) = failure else { return None };
    let error: &(dyn std::error::Error + 'static) = fault.as_ref();
    error.downcast_ref()
}
