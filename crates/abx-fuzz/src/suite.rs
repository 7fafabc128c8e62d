//! Tests that come with a template.

use std::collections::HashSet;

use abx_spec::suite::{Check, Expect, holds, parse};

use crate::place;

/// Any text is understood or refused; every test has its own name and its place, and its demands can be weighed.
pub fn suite(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let suite = match parse(text, "tests/a.yaml") {
        Ok(suite) => suite,
        Err(invalid) => return invalid.diagnostics().for_each(|fault| place::told(fault, text)),
    };
    let mut names = HashSet::new();
    for test in &suite.tests {
        assert!(names.insert(&test.name), "{} is there twice", test.name);
        place::within(test.place.line, test.place.column, text);
        let Check::Run(run) = &test.check else { continue };
        for demand in run.stdout.iter().chain(&run.stderr) {
            place::within(demand.place.line, demand.place.column, text);
            if let Expect::Equals(whole) = &demand.value {
                assert!(holds(&demand.value, whole), "a text is not what it is");
            }
        }
    }
}
