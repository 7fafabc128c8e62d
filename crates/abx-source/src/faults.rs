//! All that is wrong with a package.

use std::sync::Arc;

use abx_core::{Code, Fault, Snippet};

/// Faults of a package's files, found in one run; there is at least one.
#[derive(Clone, Debug)]
pub struct Faults {
    first: Arc<dyn Fault>,
    rest: Vec<Arc<dyn Fault>>,
}

impl Faults {
    /// `None` where there is no fault.
    pub(crate) fn new(faults: impl IntoIterator<Item = Box<dyn Fault>>) -> Option<Self> {
        let mut faults = faults.into_iter().map(Arc::from);
        Some(Self { first: faults.next()?, rest: faults.collect() })
    }
}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.first.fmt(f)
    }
}

impl std::error::Error for Faults {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.first.source()
    }
}

impl Fault for Faults {
    fn code(&self) -> Code {
        self.first.code()
    }

    fn hints(&self) -> Vec<String> {
        self.first.hints()
    }

    fn snippets(&self) -> Vec<Snippet> {
        self.first.snippets()
    }

    fn details(&self) -> Vec<String> {
        self.first.details()
    }

    fn others(&self) -> Vec<&dyn Fault> {
        self.first.others().into_iter().chain(self.rest.iter().map(|fault| &**fault)).collect()
    }
}
