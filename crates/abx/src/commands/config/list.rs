use agent_sandbox::config::Config;

use crate::Failure;
use crate::cli::ConfigListArgs;
use crate::output::{Printer, Table};

/// A row for each setting.
pub(super) fn list(printer: &Printer, config: &Config, _: &ConfigListArgs) -> Result<u8, Failure> {
    let entries = config.list()?;
    let mut table = Table::new(["KEY", "VALUE", "SOURCE"]);
    for entry in &entries {
        let value = entry.value.clone().unwrap_or_else(|| "-".to_owned());
        table.row([entry.key.clone(), value, entry.source.to_string()]);
    }
    printer.table(&entries, &table)?;
    Ok(0)
}
