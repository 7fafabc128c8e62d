//! References to templates, and the names of images.

use abx_image::RegistryName;
use abx_reference::{Reference, tagged};

use crate::place;

/// What is understood prints in one form, which means the same.
pub fn reference(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Reference::parse(text) {
        Ok(reference) => printed(&reference),
        Err(error) => place::one_line(&error.to_string()),
    }
    if let Some((text, tag)) = text.split_once(' ')
        && let Ok(reference) = tagged(text, tag)
    {
        printed(&reference);
    }
    image(text);
}

fn printed(reference: &Reference) {
    let printed = reference.to_string();
    assert_eq!(Reference::parse(&printed).as_ref(), Ok(reference), "{printed:?} means something else");
}

fn image(text: &str) {
    let Ok(name) = RegistryName::parse(text) else { return };
    let printed = name.to_string();
    let again = RegistryName::parse(&printed).unwrap_or_else(|error| panic!("{printed:?}: {error}"));
    // A digest outranks a tag, and is printed without it.
    assert_eq!((again.registry(), again.repository()), (name.registry(), name.repository()), "{printed:?}");
    assert_eq!((again.digest(), again.to_string()), (name.digest(), printed));
    let familiar = RegistryName::parse(&name.familiar()).map(|again| again.familiar());
    assert_eq!(familiar.ok(), Some(name.familiar()), "it is not shown as it can be written");
}
