//! The tree.

/// Where a node stands: line and column from 1, and how many characters of that line it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) length: usize,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
    /// How many nodes it is made of, itself included.
    pub(crate) size: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value. Keys of a map are unique.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) node: Node,
}

/// A scalar: its text, and whether it was written plain, so that it may mean something else than a string.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    pub(crate) plain: bool,
}

/// What a scalar means in the core schema of YAML 1.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    Null,
    Bool(bool),
    /// Beyond 64 bits it is a float.
    Integer(i64),
    Float(f64),
    Text,
}

impl Scalar {
    pub(crate) fn meaning(&self) -> Meaning {
        if !self.plain {
            return Meaning::Text;
        }
        match self.text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => Meaning::Null,
            "true" | "True" | "TRUE" => Meaning::Bool(true),
            "false" | "False" | "FALSE" => Meaning::Bool(false),
            text => number(text),
        }
    }
}

fn number(text: &str) -> Meaning {
    if let Some(digits) = text.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).map_or(Meaning::Text, Meaning::Integer);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return i64::from_str_radix(digits, 8).map_or(Meaning::Text, Meaning::Integer);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Meaning::Float(f64::INFINITY);
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Meaning::Float(f64::NAN);
    }
    let has_digit = unsigned.starts_with(|first: char| first.is_ascii_digit())
        || (unsigned.starts_with('.') && unsigned[1..].starts_with(|first: char| first.is_ascii_digit()));
    let letters = |letter: u8| letter.is_ascii_digit() || matches!(letter, b'.' | b'e' | b'E' | b'+' | b'-');
    if !has_digit || !unsigned.bytes().all(letters) {
        return Meaning::Text;
    }
    if let Ok(integer) = text.parse() {
        return Meaning::Integer(integer);
    }
    text.parse().map_or(Meaning::Text, Meaning::Float)
}

impl Node {
    /// Whether it is a plain `null`, `~` or nothing at all.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.meaning() == Meaning::Null)
    }

    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Scalar(scalar) => match scalar.meaning() {
                Meaning::Null => "null",
                Meaning::Bool(_) => "a boolean",
                Meaning::Integer(_) | Meaning::Float(_) => "a number",
                Meaning::Text => "a string",
            },
        }
    }
}
