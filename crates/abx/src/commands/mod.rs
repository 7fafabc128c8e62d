//! What each command does: one operation of `agent_sandbox`, and its value put into words.
//!
//! [`run`] is the way from words to exit status; a command returns its status or a [`Failure`].

mod code;
mod completions;
mod config;
mod connect;
mod create;
mod doctor;
mod download;
mod exec;
mod fetch;
mod foreground;
mod hits;
mod info;
mod interrupt;
mod kill;
mod list;
mod logs;
mod named;
mod pause;
mod pool;
mod ports;
mod resume;
mod run;
mod snapshot;
mod template;
mod token;
mod upload;

use std::ffi::OsString;

use agent_sandbox::config::Config;
use agent_sandbox::core::Secret;
use agent_sandbox::{Context, Sandbox, Status};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::Failure;
use crate::cli::{Cli, Command, Early};
use crate::output::{Printer, PrinterOptions};

/// What every command has at hand.
struct Edge {
    printer: Printer,
    context: Context,
}

/// Runs the command that `words` (the program's name first) ask for, and returns the exit status.
pub(crate) fn run(words: &[OsString]) -> u8 {
    let early = Early::scan(words);
    let options = PrinterOptions { json: early.json, no_color: early.no_color, ..PrinterOptions::default() };
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => return answer(advise(error, words), &Printer::new(options)),
    };
    let printer =
        Printer::new(PrinterOptions { quiet: cli.global.quiet, verbose: cli.global.verbose, ..options });
    let carries_status = cli.command.carries_status();
    look_after_secrets(&printer);
    let result =
        dispatch(printer, cli.command, None).or_else(|failure| token::guide(&printer, words, failure));
    result.unwrap_or_else(|failure| failure.report(&printer, carries_status))
}

/// Adds what people who know `docker exec` need to hear.
fn advise(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let runs_commands = words.iter().any(|word| word == "exec" || word == "create");
    if error.kind() == ErrorKind::UnknownArgument && runs_commands && !words.iter().any(|word| word == "--") {
        let tip = "the command to run stands after `--`".to_owned();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Help and version are results; everything else the parser has to say is about a wrong command line.
fn answer(error: clap::Error, printer: &Printer) -> u8 {
    if error.use_stderr() {
        return Failure::Usage(Box::new(error)).report(printer, false);
    }
    match printer.styled(&error.render()) {
        Ok(()) => 0,
        Err(failure) => failure.report(printer, false),
    }
}

/// Secrets that others may read are closed to them, whichever command comes first.
fn look_after_secrets(printer: &Printer) {
    match Config::from_env().tighten() {
        Ok(notes) => notes.iter().for_each(|note| printer.warning(note)),
        Err(error) => printer.warning(&format!("{error}: secrets in it are not used")),
    }
}

/// Runs a command; with the token for GitHub that was typed in for it, if any.
fn dispatch(printer: Printer, command: Command, token: Option<&Secret>) -> Result<u8, Failure> {
    match &command {
        Command::Completions(args) => return completions::completions(&printer, args),
        Command::Config(args) => return config::config(&printer, &args.command),
        _ => {}
    }
    let mut context = Context::from_env()?;
    context.github_token = token.cloned().or(context.github_token);
    let edge = Edge { printer, context };
    // One thread: starting a sandbox waits more than it computes, and a pool costs milliseconds to set up.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(crate::EdgeError::Runtime)?;
    let result = runtime.block_on(perform(&edge, command));
    // Work that was given up may still sit in a blocking call: the process ends without it.
    runtime.shutdown_background();
    result
}

async fn perform(edge: &Edge, command: Command) -> Result<u8, Failure> {
    match command {
        Command::Create(args) => create::create(edge, &args).await,
        Command::Exec(args) => exec::exec(edge, args).await,
        Command::Code(args) => code::code(edge, args).await,
        Command::Run(args) => run::run(edge, args).await,
        Command::Commands(args) => named::commands(edge, &args).await,
        Command::Connect(args) => connect::connect(edge, &args).await,
        Command::List(args) => list::list(edge, &args),
        Command::Info(args) => info::info(edge, &args),
        Command::Logs(args) => logs::logs(edge, &args).await,
        Command::Ports(args) => ports::ports(edge, &args).await,
        Command::Upload(args) => upload::upload(edge, &args).await,
        Command::Download(args) => download::download(edge, &args).await,
        Command::Pause(args) => pause::pause(edge, &args).await,
        Command::Resume(args) => resume::resume(edge, &args).await,
        Command::Kill(args) => kill::kill(edge, &args).await,
        Command::Snapshot(args) => snapshot::snapshot(edge, &args).await,
        Command::Pool(args) => pool::pool(edge, &args).await,
        Command::Template(args) => template::template(edge, args.command).await,
        Command::Doctor(args) => doctor::doctor(edge, &args),
        Command::Completions(args) => completions::completions(&edge.printer, &args),
        Command::Config(args) => config::config(&edge.printer, &args.command),
    }
}

/// Finds a sandbox in order to use it: a paused one is woken, since a call to it would hang, a stopped one is started.
async fn awake(edge: &Edge, which: &str) -> Result<Sandbox, Failure> {
    let sandbox = agent_sandbox::find(&edge.context, which)?;
    let told = match sandbox.info().status {
        Status::Running => return Ok(sandbox),
        Status::Stopped => "started",
        _ => "resumed",
    };
    let awake = sandbox.resume().await?;
    edge.printer.note(&format!("{told} {}", awake.id()));
    Ok(awake)
}

/// Seconds since the epoch.
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
