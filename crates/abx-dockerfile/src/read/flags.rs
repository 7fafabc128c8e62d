//! The flags of one instruction.

use crate::near::nearest;
use crate::problem::Problem;
use crate::read::Reader;
use crate::source::Span;
use crate::syntax::{Node, Word};

/// A flag that was given; its value has its own place.
struct Given {
    name: &'static str,
    value: Option<Word>,
    span: Span,
}

/// The known flags of an instruction.
pub(crate) struct Flags {
    given: Vec<Given>,
}

impl Flags {
    /// Reads the flags of `node`. Unknown ones and, but for those that end in `*`, doubled ones are faults.
    pub(crate) fn read(node: &Node, known: &[&'static str], reader: &mut Reader<'_, '_>) -> Self {
        let mut given: Vec<Given> = Vec::new();
        for flag in &node.flags {
            let text = flag.text.strip_prefix("--").unwrap_or(&flag.text);
            let (name, value) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let names = || known.iter().map(|known| known.trim_end_matches('*'));
            let Some(index) = names().position(|known| known == name) else {
                let (keyword, near) = (node.keyword, nearest(name, names()));
                reader.fault(Problem::UnknownFlag { keyword, name: name.to_owned(), near }, flag.span);
                continue;
            };
            let name = known[index].trim_end_matches('*');
            if name == known[index] && given.iter().any(|other| other.name == name) {
                reader.fault(Problem::FlagTwice { name }, flag.span);
                continue;
            }
            let value = value.map(|value| Word { text: value.to_owned(), span: value_span(flag.span, name) });
            given.push(Given { name, value, span: flag.span });
        }
        Self { given }
    }

    /// The value of a flag that must have one.
    pub(crate) fn text(&mut self, name: &'static str, reader: &mut Reader<'_, '_>) -> Option<Word> {
        self.texts(name, reader).into_iter().next()
    }

    /// The values of a flag that may be given more than once.
    pub(crate) fn texts(&mut self, name: &'static str, reader: &mut Reader<'_, '_>) -> Vec<Word> {
        let mut words = Vec::new();
        for flag in self.given.extract_if(.., |flag| flag.name == name) {
            match flag.value {
                Some(word) if !word.text.is_empty() => words.push(word),
                _ => reader.fault(Problem::FlagValue { name }, flag.span),
            }
        }
        words
    }

    /// A flag that is `true` where it stands alone.
    pub(crate) fn switch(&mut self, name: &'static str, reader: &mut Reader<'_, '_>) -> Option<bool> {
        let flag = self.given.extract_if(.., |flag| flag.name == name).next()?;
        match flag.value.as_ref().map_or("true", |word| &word.text) {
            "true" => Some(true),
            "false" => Some(false),
            other => {
                reader.fault(Problem::FlagSwitch { name, text: other.to_owned() }, flag.span);
                None
            }
        }
    }
}

/// The part of a flag behind its `=`, where the flag is written without quotes before it.
fn value_span(flag: Span, name: &str) -> Span {
    Span { start: (flag.start + "--=".len() + name.len()).min(flag.end), end: flag.end }
}
