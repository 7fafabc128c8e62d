use agent_sandbox::config::Config;

use crate::Failure;
use crate::cli::ConfigUnsetArgs;
use crate::output::Printer;

/// Takes a setting out of its file.
pub(super) fn unset(printer: &Printer, config: &Config, args: &ConfigUnsetArgs) -> Result<u8, Failure> {
    let changed = config.unset(&args.key)?;
    let text = match changed.was_set {
        true => format!("took {} out of {}", changed.key, changed.file.display()),
        false => format!("{} was not set", changed.key),
    };
    super::changed(printer, &changed, &text)?;
    Ok(0)
}
