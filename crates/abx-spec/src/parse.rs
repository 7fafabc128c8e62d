//! Text → [`Spec`].

use crate::diagnostic::{Diagnostic, Invalid};
use crate::foreign;
use crate::limits::{Bounds, FILE_BYTES};
use crate::problem::Problem;
use crate::read::{self, Reader};
use crate::spec::{Place, Spec};
use crate::yaml::{self, Value};

/// A file that means something.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub spec: Spec,
    /// What is questionable in it.
    pub warnings: Vec<Diagnostic>,
}

/// Parses the text of a `template.yaml` (or `sandbox.yaml`); `file` is its name as the user knows it. Never
/// panics, whatever the text.
///
/// # Errors
/// Every fault of the file at once.
pub fn parse(text: &str, file: &str) -> Result<Parsed, Invalid> {
    parse_within(text, file, &Bounds::default())
}

/// [`parse`](fn@parse) where the operator has other bounds than the usual ones.
pub fn parse_within(text: &str, file: &str, bounds: &Bounds) -> Result<Parsed, Invalid> {
    let Examined { spec, faults, warnings, .. } = examine(text, file, bounds);
    match Invalid::new(faults) {
        Some(invalid) => Err(invalid),
        None => Ok(Parsed { spec, warnings }),
    }
}

/// What there is to say about a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Examined {
    /// What could be understood: all of the file where `faults` is empty.
    pub spec: Spec,
    pub faults: Vec<Diagnostic>,
    pub warnings: Vec<Diagnostic>,
    /// Whether it has the flat shorthand's shape.
    pub is_shorthand: bool,
}

/// [`parse`](fn@parse) for a caller that has faults of its own to add before it gives up.
pub fn examine(text: &str, file: &str, bounds: &Bounds) -> Examined {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::new(text, file);
    reader.bounds = bounds.clone();
    let spec = if text.len() > FILE_BYTES {
        reader.fault(Problem::TooLarge { limit: FILE_BYTES }, yaml::Span { line: 1, column: 1, length: 1 });
        Spec::default()
    } else {
        spec(text, &mut reader)
    };
    let is_shorthand = reader.is_shorthand;
    let (faults, warnings) = reader.finish();
    Examined { spec, faults, warnings, is_shorthand }
}

fn spec(text: &str, reader: &mut Reader<'_>) -> Spec {
    let (root, found) = yaml::load(text);
    if let Some(Value::Map(entries)) = root.as_ref().map(|root| &root.value)
        && let Some(what) = foreign::recognise(entries)
        && let Some(first) = entries.first()
    {
        reader.fault(Problem::Foreign { what }, first.key_span);
        return Spec::default();
    }
    for (problem, span) in found {
        reader.fault(problem, span);
    }
    root.map(|root| read::root(reader, &root)).unwrap_or_default()
}

impl Place {
    /// The first character of a file.
    pub fn start_of(file: &str) -> Self {
        Self { file: file.to_owned(), line: 1, column: 1 }
    }
}
