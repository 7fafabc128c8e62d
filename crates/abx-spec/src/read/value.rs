//! Readers of single values. Each returns `None` behind a fault it has reported.

use std::ops::RangeInclusive;

use super::hints;
use super::reader::{Fields, Reader};
use crate::limits::PROBE_SECONDS;
use crate::near::nearest;
use crate::problem::Problem;
use crate::spec::At;
use crate::units::megabytes;
use crate::yaml::Meaning;
use crate::yaml::{Node, Scalar, Value};

impl Reader<'_> {
    fn scalar<'n>(&mut self, node: &'n Node, key: &str, wanted: &'static str) -> Option<&'n Scalar> {
        match &node.value {
            Value::Scalar(scalar) => Some(scalar),
            _ => {
                self.wrong_type(node, key, wanted, hints::text(node, key));
                None
            }
        }
    }

    /// A string; what YAML reads as something else without quotes is a fault.
    pub(crate) fn text(&mut self, node: &Node, key: &str) -> Option<At<String>> {
        let scalar = self.scalar(node, key, "a string")?;
        let text = scalar.text.clone();
        if scalar.meaning() != Meaning::Text {
            self.fault(Problem::Unquoted { key: key.to_owned(), text, found: node.kind() }, node.span);
            return None;
        }
        if text.trim().is_empty() {
            self.fault(Problem::Blank { key: key.to_owned() }, node.span);
            return None;
        }
        if text.contains('\0') {
            self.fault(Problem::Nul { key: key.to_owned() }, node.span);
            return None;
        }
        Some(self.at(text, node.span))
    }

    /// A string that may be empty, without its place.
    pub(crate) fn free_text(&mut self, fields: &Fields<'_>, section: &str, key: &str) -> Option<String> {
        let node = fields.get(key)?;
        if matches!(&node.value, Value::Scalar(scalar) if !scalar.plain && scalar.text.trim().is_empty()) {
            return Some(String::new());
        }
        self.text(node, &join(section, key)).map(|at| at.value)
    }

    pub(super) fn boolean(&mut self, node: &Node, key: &str) -> Option<bool> {
        let scalar = self.scalar(node, key, "`true` or `false`")?;
        if let Meaning::Bool(value) = scalar.meaning() {
            return Some(value);
        }
        let text = scalar.text.clone();
        let meant = match text.to_ascii_lowercase().as_str() {
            "yes" | "on" | "y" | "true" | "1" => Some(true),
            "no" | "off" | "n" | "false" | "0" => Some(false),
            _ => None,
        };
        self.fault(Problem::NotBoolean { key: key.to_owned(), text, meant }, node.span);
        None
    }

    pub(super) fn integer(&mut self, node: &Node, key: &str, bounds: RangeInclusive<u64>) -> Option<u64> {
        let scalar = self.scalar(node, key, "a whole number")?;
        match scalar.meaning() {
            Meaning::Integer(value) => self.bounded(node, key, value, &bounds),
            Meaning::Float(value) if value.fract() == 0.0 && value.abs() < 1e15 => {
                self.bounded(node, key, value as i64, &bounds)
            }
            _ => self.no_amount(node, key, "a whole number", scalar),
        }
    }

    /// MB as a number, or a string with a unit.
    pub(super) fn megabytes(&mut self, node: &Node, key: &str, bounds: RangeInclusive<u64>) -> Option<u64> {
        const WANTED: &str = "a whole number of MB, or a string with a unit like \"4GiB\"";
        let scalar = self.scalar(node, key, WANTED)?;
        match scalar.meaning() {
            Meaning::Integer(value) => self.bounded(node, key, value, &bounds),
            Meaning::Text => match megabytes(&scalar.text) {
                Some(amount) => self.bounded(node, key, amount as i64, &bounds),
                None => self.no_amount(node, key, WANTED, scalar),
            },
            _ => self.no_amount(node, key, WANTED, scalar),
        }
    }

    fn bounded(&mut self, node: &Node, key: &str, value: i64, bounds: &RangeInclusive<u64>) -> Option<u64> {
        let inside = u64::try_from(value).ok().filter(|value| bounds.contains(value));
        if inside.is_none() {
            self.out_of_bounds(node, key, value.to_string(), bounds);
        }
        inside
    }

    pub(crate) fn float(&mut self, node: &Node, key: &str, bounds: RangeInclusive<f64>) -> Option<f64> {
        let scalar = self.scalar(node, key, "a number")?;
        let value = match scalar.meaning() {
            Meaning::Integer(value) => value as f64,
            Meaning::Float(value) => value,
            _ => return self.no_amount(node, key, "a number", scalar),
        };
        if bounds.contains(&value) {
            return Some(value);
        }
        self.out_of_bounds(node, key, scalar.text.clone(), &bounds);
        None
    }

    pub(super) fn seconds(&mut self, fields: &Fields<'_>, section: &str, key: &str) -> Option<f64> {
        fields.get(key).and_then(|node| self.float(node, &join(section, key), PROBE_SECONDS))
    }

    fn out_of_bounds<T: ToString>(
        &mut self,
        node: &Node,
        key: &str,
        value: String,
        bounds: &RangeInclusive<T>,
    ) {
        let (low, high) = (bounds.start().to_string(), bounds.end().to_string());
        self.fault(Problem::OutOfBounds { key: key.to_owned(), value, low, high }, node.span);
    }

    fn no_amount<T>(&mut self, node: &Node, key: &str, wanted: &'static str, scalar: &Scalar) -> Option<T> {
        let (text, hint) = (scalar.text.clone(), hints::number(key, scalar));
        self.fault(Problem::NotAmount { key: key.to_owned(), wanted, text, hint }, node.span);
        None
    }

    pub(super) fn port(&mut self, node: &Node, key: &str) -> Option<At<u16>> {
        let port = self.integer(node, key, 1..=65_535)?;
        u16::try_from(port).ok().map(|port| self.at(port, node.span))
    }

    /// The items of a list; a single value instead of one is a fault that shows how to write it.
    pub(crate) fn items<'n>(&mut self, fields: &Fields<'n>, section: &str, key: &str) -> &'n [Node] {
        let Some(node) = fields.get(key) else { return &[] };
        match &node.value {
            Value::List(items) => items,
            _ => {
                let hint = hints::list(key, node);
                self.wrong_type(node, &join(section, key), "a list", hint);
                &[]
            }
        }
    }

    /// A list of strings.
    pub(super) fn texts(&mut self, fields: &Fields<'_>, section: &str, key: &str) -> Vec<At<String>> {
        let key_path = join(section, key);
        self.items(fields, section, key).iter().filter_map(|item| self.text(item, &key_path)).collect()
    }

    /// A list of strings without their places.
    pub(super) fn words(&mut self, fields: &Fields<'_>, section: &str, key: &str) -> Vec<String> {
        self.texts(fields, section, key).into_iter().map(|word| word.value).collect()
    }

    /// One of a few words.
    pub(super) fn one_of(
        &mut self,
        node: &Node,
        key: &'static str,
        known: &'static [&'static str],
    ) -> Option<&'static str> {
        let word = self.text(node, key)?.value;
        if let Some(found) = known.iter().find(|known| **known == word) {
            return Some(found);
        }
        let near = nearest(&word, known.iter().copied());
        self.fault(Problem::NotOneOf { key, word, known, near }, node.span);
        None
    }
}

/// `resources` and `cpu` make `resources.cpu`.
pub(crate) fn join(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}
