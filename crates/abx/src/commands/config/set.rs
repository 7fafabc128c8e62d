use std::io::Read;

use agent_sandbox::config::Config;
use agent_sandbox::core::Secret;
use agent_sandbox::settings::SettingsError;

use crate::cli::ConfigSetArgs;
use crate::output::Printer;
use crate::{EdgeError, Failure, prompt, terminal};

/// More of standard input is no value.
const INPUT_CAP: u64 = 64 << 10;

/// Checks a value and writes it.
pub(super) fn set(printer: &Printer, config: &Config, args: &ConfigSetArgs) -> Result<u8, Failure> {
    let secret = agent_sandbox::config::secret(&args.key);
    let value = match (&args.value, secret) {
        (Some(value), None) => Secret::new(value.as_str()),
        (Some(value), Some(secret)) => {
            printer.warning(&format!(
                "the shell may keep this command in its history: `abx config set {}` alone asks for the value",
                secret.name
            ));
            Secret::new(value.as_str())
        }
        (None, None) => {
            // Whether there is such a key is the first thing to say.
            config.get(&args.key)?;
            return Err(SettingsError::NoValue { name: args.key.clone() }.into());
        }
        (None, Some(secret)) if terminal::stdin_is_terminal() => {
            match prompt::masked(&format!("{}: ", secret.name))? {
                Some(value) if !value.expose().is_empty() => value,
                _ => return Err(SettingsError::NoValue { name: secret.name.to_owned() }.into()),
            }
        }
        (None, Some(_)) => first_line()?,
    };
    let changed = config.set(&args.key, value.expose())?;
    let text = match secret {
        Some(_) => format!("stored {} in {}", changed.key, changed.file.display()),
        None => format!("set {} in {}", changed.key, changed.file.display()),
    };
    super::changed(printer, &changed, &text)?;
    Ok(0)
}

/// The first line of standard input.
fn first_line() -> Result<Secret, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(INPUT_CAP).read_to_string(&mut text);
    read.map_err(|source| EdgeError::Read { path: "standard input".into(), source })?;
    Ok(Secret::new(text.lines().next().unwrap_or_default()))
}
