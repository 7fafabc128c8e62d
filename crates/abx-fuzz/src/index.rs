//! Indexes of templates.

use std::collections::HashSet;

use abx_reference::Reference;
use abx_spec::index::parse;

use crate::place;

/// Any text is understood or refused; what is listed can be asked for by its reference.
pub fn index(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let index = match parse(text, "index.yaml") {
        Ok(index) => index,
        Err(invalid) => return invalid.diagnostics().for_each(|fault| place::told(fault, text)),
    };
    let mut names = HashSet::new();
    for listing in &index.listings {
        assert!(names.insert(listing.name.to_lowercase()), "{} is there twice", listing.name);
        place::within(listing.place.line, listing.place.column, text);
        let reference = Reference::Github(listing.github.clone());
        assert_eq!(Reference::parse(&reference.to_string()), Ok(reference), "a listing cannot be asked for");
    }
}
