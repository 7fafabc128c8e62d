//! A file of an older form in, the full form out, with its `custom_commands` as functions of a `commands.py`.

mod commands;
mod yaml;

use crate::diagnostic::Invalid;
use crate::parse::{Examined, examine};
use crate::problem::Problem;
use crate::read::Reader;
use crate::yaml::{Value, load};

/// What a package has instead of its older file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The new `template.yaml`.
    pub template: String,
    /// The `commands.py` beside it, where there were custom commands.
    pub commands: Option<String>,
    /// The names of those, in the order of the file.
    pub names: Vec<String>,
    /// Whether comments of the older file are lost.
    pub loses_comments: bool,
}

/// Rewrites `text`, which `file` names; `None` where it has the full form already.
///
/// # Errors
/// Every fault of the file at once, as [`parse`](fn@crate::parse) tells them: only what is understood is rewritten.
pub fn migrate(text: &str, file: &str) -> Result<Option<Migrated>, Invalid> {
    let Examined { spec, faults, is_shorthand, .. } = examine(text, file, &crate::Bounds::default());
    if !is_shorthand {
        return Invalid::new(faults).map_or(Ok(None), Err);
    }
    let (root, _) = load(text);
    let entries = match root.as_ref().map(|root| &root.value) {
        Some(Value::Map(entries)) => entries.as_slice(),
        _ => &[],
    };
    let mut reader = Reader::new(text, file);
    let custom = entries.iter().find(|entry| entry.key == "custom_commands");
    let custom = custom.map(|entry| commands::read(&mut reader, &entry.node)).unwrap_or_default();
    let (more, _) = reader.finish();
    let mut faults: Vec<_> =
        faults.into_iter().filter(|fault| !matches!(fault.problem, Problem::CustomCommands { .. })).collect();
    faults.extend(more);
    if let Some(invalid) = Invalid::new(faults) {
        return Err(invalid);
    }
    Ok(Some(Migrated {
        template: yaml::write(&spec),
        commands: (!custom.is_empty()).then(|| commands::write(&custom)),
        names: custom.into_iter().map(|command| command.name).collect(),
        loses_comments: text.lines().any(|line| line.trim_start().starts_with('#')),
    }))
}
