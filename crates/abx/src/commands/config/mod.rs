//! The verbs on settings, one file each.
//!
//! They go before [`Context`](agent_sandbox::Context) is made, which a wrong settings file is in the way of.

mod get;
mod list;
mod set;
mod unset;

use agent_sandbox::config::{Changed, Config};

use crate::Failure;
use crate::cli::ConfigCommand;
use crate::output::Printer;

pub(super) fn config(printer: &Printer, command: &ConfigCommand) -> Result<u8, Failure> {
    let config = Config::from_env();
    match command {
        ConfigCommand::Set(args) => set::set(printer, &config, args),
        ConfigCommand::Get(args) => get::get(printer, &config, args),
        ConfigCommand::List(args) => list::list(printer, &config, args),
        ConfigCommand::Unset(args) => unset::unset(printer, &config, args),
    }
}

/// Says what was done, and whether something else has the last word.
fn changed(printer: &Printer, changed: &Changed, text: &str) -> Result<(), Failure> {
    for note in &changed.notes {
        printer.note(note);
    }
    printer.done(changed, text)?;
    if let Some(other) = &changed.overridden_by {
        printer.warning(&format!("{other} goes before it here"));
    }
    Ok(())
}
