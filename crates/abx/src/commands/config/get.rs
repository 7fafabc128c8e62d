use agent_sandbox::config::Config;

use crate::Failure;
use crate::cli::ConfigGetArgs;
use crate::output::Printer;

/// Prints what a setting is, and nothing for one that is nothing.
pub(super) fn get(printer: &Printer, config: &Config, args: &ConfigGetArgs) -> Result<u8, Failure> {
    let entry = config.get(&args.key)?;
    if entry.value.is_none() {
        printer.note(&format!("{} is not set", entry.key));
    }
    printer.result(&entry, entry.value.as_deref().unwrap_or_default())?;
    Ok(0)
}
