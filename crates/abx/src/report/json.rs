//! The form a program reads.

use abx_core::Fault;
use serde::Serialize;

use super::message;

/// One error. Keys stay; further ones may come.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorObject {
    /// `E2004`; `usage` where the command line itself is wrong, `output` where stdout cannot be written.
    code: &'static str,
    message: String,
    /// The place, where there is one.
    file: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
    /// Advice, a sentence each.
    help: Vec<String>,
    /// Lines of a log and the like.
    details: Vec<String>,
    /// Further errors of the same run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<Self>,
}

impl ErrorObject {
    /// The object of a fault and of all that were found with it.
    pub(crate) fn new(fault: &dyn Fault) -> Self {
        let place = fault.snippets().into_iter().next();
        Self {
            code: fault.code().as_str(),
            message: message(fault),
            line: place.as_ref().map(|place| place.line),
            column: place.as_ref().map(|place| place.column),
            file: place.map(|place| place.file),
            help: fault.hints(),
            details: fault.details(),
            others: fault.others().into_iter().map(Self::new).collect(),
        }
    }

    /// The object of what has no stable code: a wrong command line, output that cannot be written.
    pub(crate) fn plain(code: &'static str, message: String, help: Vec<String>) -> Self {
        let (file, line, column) = (None, None, None);
        Self { code, message, file, line, column, help, details: Vec::new(), others: Vec::new() }
    }
}
