//! `template.lock`.

use abx_source::Lock;

use crate::place;

/// What is understood is written as a text that means the same.
pub fn lock(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Lock::parse(text, "template.lock") {
        Ok(lock) => {
            let written = lock.to_string();
            let again = Lock::parse(&written, "template.lock");
            assert_eq!(again.as_ref().ok(), Some(&lock), "it means something else:\n{written}");
        }
        Err(fault) => place::told(&fault, text),
    }
}
