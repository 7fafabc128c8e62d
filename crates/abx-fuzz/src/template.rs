//! `template.yaml`, in every shape.

use abx_spec::{Bounds, Explained, Place, Spec, examine, explain, merge, parse};

use crate::place;

const FILE: &str = "template.yaml";

/// Any text is understood or refused: faults point into it, and so do the values of what is understood.
pub fn template(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let examined = examine(text, FILE, &Bounds::default());
    examined.faults.iter().chain(&examined.warnings).for_each(|found| place::told(found, text));
    let parsed = parse(text, FILE);
    assert_eq!(parsed.is_ok(), examined.faults.is_empty());
    match parsed {
        Ok(parsed) => {
            assert_eq!(parsed.spec, examined.spec, "two readings differ");
            understood(&parsed.spec, text);
        }
        Err(invalid) => {
            assert_eq!(invalid.diagnostics().count(), examined.faults.len(), "all faults are told");
        }
    }
}

fn understood(spec: &Spec, text: &str) {
    let effective = merge([spec]);
    assert!(!effective.metadata.name.is_empty(), "a template has a name");
    assert!(Bounds::default().memory.contains(&effective.memory), "memory is within bounds");
    for Place { line, column, .. } in rows(spec, text).iter().filter_map(|row| row.place.as_ref()) {
        place::within(*line, *column, text);
    }
}

/// What becomes the full form is understood without a word, means the same and stays as it is.
pub fn migrate(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let migrated = match abx_spec::migrate(text, FILE) {
        Ok(Some(migrated)) => migrated,
        Ok(None) => return,
        Err(invalid) => return invalid.diagnostics().for_each(|fault| place::told(fault, text)),
    };
    let new = &migrated.template;
    let parsed = parse(new, FILE).unwrap_or_else(|fault| panic!("{fault}: {fault:?}\n{new}"));
    assert_eq!(abx_spec::migrate(new, FILE), Ok(None), "it is the full form");
    assert_eq!(migrated.commands.is_some(), !migrated.names.is_empty(), "each command has its function");
    let old = examine(text, FILE, &Bounds::default()).spec;
    assert_eq!(meaning(&parsed.spec, new), meaning(&old, text), "it means something else:\n{new}");
}

/// All values, wherever they are written.
fn meaning(spec: &Spec, text: &str) -> Vec<(String, String)> {
    // Whether a bare name is a template or an image is settled by the migration.
    let values = rows(spec, text).into_iter().filter(|row| !row.key.starts_with("base."));
    values.map(|row| (row.key, row.value.to_string())).collect()
}

fn rows(spec: &Spec, text: &str) -> Vec<Explained> {
    explain(&[(spec, text, FILE)])
}
