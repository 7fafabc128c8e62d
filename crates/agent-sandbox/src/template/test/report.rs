//! What the tests of a template came to.

use serde::Serialize;

/// All of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestReport {
    /// Name and version.
    pub template: String,
    /// The id of the image that was tested.
    pub image: String,
    pub files: Vec<FileReport>,
}

/// The tests of one file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileReport {
    /// As the user knows it.
    pub file: String,
    /// With the making of its sandboxes.
    pub seconds: f64,
    pub tests: Vec<Outcome>,
    /// The sandboxes that were left to be looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    pub name: String,
    /// Where it is written.
    pub file: String,
    pub line: usize,
    pub passed: bool,
    pub seconds: f64,
    /// What was not as it must be; none where it passed.
    pub failures: Vec<Mismatch>,
    /// What the command wrote, for who looks for the reason; empty where it passed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
}

/// Something that was not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// `stdout`, `status`, `version of git`.
    pub what: String,
    pub expected: String,
    pub actual: String,
    /// Where the demand is written.
    pub file: String,
    pub line: usize,
    pub column: usize,
}

impl TestReport {
    /// All tests, in the order they ran.
    pub fn tests(&self) -> impl Iterator<Item = &Outcome> {
        self.files.iter().flat_map(|file| &file.tests)
    }

    /// How many failed.
    pub fn failed(&self) -> usize {
        self.tests().filter(|test| !test.passed).count()
    }
}
