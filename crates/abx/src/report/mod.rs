//! Errors as a person and as a program read them.
//!
//! In: any [`Fault`]. Out: text or JSON. [`text`] has the form, [`json`] the object, [`sarif`] the log of many, [`excerpt`] the source
//! line with its caret.

mod excerpt;
mod json;
mod plain;
mod sarif;
mod text;

pub(crate) use json::ErrorObject;
pub(crate) use plain::{log_line, plain};
pub(crate) use sarif::{Sarif, SarifLevel};
pub(crate) use text::{hint_text, text, warning_text};

use abx_core::Fault;

/// What failed and why: the fault's own message, then each cause that it does not quote itself.
fn message(fault: &dyn Fault) -> String {
    let mut message = fault.to_string();
    let mut cause = std::error::Error::source(fault);
    while let Some(error) = cause {
        let text = error.to_string();
        if !text.is_empty() && !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = error.source();
    }
    message
}

#[cfg(test)]
mod tests;
