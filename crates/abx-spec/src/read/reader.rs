//! What all section readers share: the file, the faults found so far, the fields of a map.

use crate::diagnostic::{Diagnostic, snippet};
use crate::limits::Bounds;
use crate::near::nearest;
use crate::problem::Problem;
use crate::read::{hints, keys, older};
use crate::spec::{At, Place};
use crate::yaml::{Entry, Node, Span, Value};

/// Collects what is wrong while the sections are read; a reader goes on behind every fault.
pub(crate) struct Reader<'t> {
    file: &'t str,
    lines: Vec<&'t str>,
    faults: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    pub(crate) is_shorthand: bool,
    pub(crate) bounds: Bounds,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str, file: &'t str) -> Self {
        let lines = text.lines().collect();
        let bounds = Bounds::default();
        Self { file, lines, faults: Vec::new(), warnings: Vec::new(), is_shorthand: false, bounds }
    }

    /// The faults and the warnings.
    pub(crate) fn finish(self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        (self.faults, self.warnings)
    }

    pub(super) fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    pub(crate) fn fault(&mut self, problem: Problem, span: Span) {
        let diagnostic = self.diagnostic(problem, span);
        self.faults.push(diagnostic);
    }

    pub(super) fn warn(&mut self, problem: Problem, span: Span) {
        let diagnostic = self.diagnostic(problem, span);
        self.warnings.push(diagnostic);
    }

    fn diagnostic(&self, problem: Problem, span: Span) -> Diagnostic {
        let source = self.lines.get(span.line.saturating_sub(1)).copied().unwrap_or_default();
        Diagnostic { problem, snippet: snippet(&self.place(span), source, span.length) }
    }

    fn place(&self, span: Span) -> Place {
        Place { file: self.file.to_owned(), line: span.line, column: span.column }
    }

    pub(super) fn at<T>(&self, value: T, span: Span) -> At<T> {
        At { value, place: self.place(span) }
    }

    /// The fields of a section. Keys other than `known` are faults; `section` is empty for the top.
    pub(crate) fn fields<'n>(
        &mut self,
        node: &'n Node,
        section: &'static str,
        known: &'static [&'static str],
    ) -> Fields<'n> {
        let entries = match &node.value {
            Value::Map(entries) => entries.as_slice(),
            _ => {
                self.wrong_type(node, section, "a map of keys", hints::map(section, node));
                &[]
            }
        };
        for entry in entries {
            if !known.contains(&entry.key.as_str()) {
                self.unknown_key(entry, section, known);
            }
        }
        Fields { entries, span: node.span, is_map: matches!(node.value, Value::Map(_)) }
    }

    /// The fields of a section in a file that is no template.
    pub(super) fn own_fields<'n>(
        &mut self,
        node: &'n Node,
        section: &'static str,
        known: &'static [&'static str],
    ) -> Fields<'n> {
        let entries = match &node.value {
            Value::Map(entries) => entries.as_slice(),
            _ => {
                self.wrong_type(node, section, "a map of keys", None);
                &[]
            }
        };
        self.strangers(entries, section, known);
        Fields { entries, span: node.span, is_map: matches!(node.value, Value::Map(_)) }
    }

    /// Says which keys are not `known` in a file that is no template, and whether there are any.
    pub(super) fn strangers(
        &mut self,
        entries: &[Entry],
        section: &'static str,
        known: &'static [&'static str],
    ) -> bool {
        let strangers = entries.iter().filter(|entry| !known.contains(&entry.key.as_str()));
        let mut count = 0;
        for entry in strangers {
            let near = nearest(&entry.key, known.iter().copied());
            let key = entry.key.clone();
            self.fault(Problem::UnknownKey { key, section, near, home: None, instead: None }, entry.key_span);
            count += 1;
        }
        count > 0
    }

    fn unknown_key(&mut self, entry: &Entry, section: &'static str, known: &'static [&'static str]) {
        if entry.key == "custom_commands" {
            let is_older = self.is_shorthand;
            return self.fault(Problem::CustomCommands { is_older }, entry.key_span);
        }
        let key = entry.key.clone();
        if section.is_empty()
            && self.is_shorthand
            && let Some(now) = older::now(&key)
        {
            return self.warn(Problem::OlderKey { key, now }, entry.key_span);
        }
        let instead = match key.as_str() {
            "<<" => Some("every key itself: YAML 1.2 has no merge keys"),
            key => keys::instead_in(section, key).or_else(|| keys::instead(key, self.is_shorthand)),
        };
        let home = keys::home(&key, self.is_shorthand).filter(|_| instead.is_none());
        // A key that is right elsewhere is misplaced rather than misspelt.
        let known = known.iter().copied().filter(|_| home.is_none() && instead.is_none());
        let near = nearest(&key, known);
        self.fault(Problem::UnknownKey { key, section, near, home, instead }, entry.key_span);
    }

    pub(crate) fn wrong_type(&mut self, node: &Node, key: &str, wanted: &'static str, hint: Option<String>) {
        let problem = Problem::WrongType { key: key.to_owned(), wanted, found: node.kind(), hint };
        self.fault(problem, node.span);
    }
}

/// The fields of one map.
pub(crate) struct Fields<'n> {
    entries: &'n [Entry],
    pub(crate) span: Span,
    /// Whether there is a map at all.
    pub(super) is_map: bool,
}

impl<'n> Fields<'n> {
    /// The value of a key; a `null` counts as absent.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.node).filter(|node| !node.is_null())
    }

    /// Whether a key that is none of `known` looks like a slip of `key`.
    pub(super) fn has_near(&self, key: &str, known: &[&str]) -> bool {
        let strangers = self.entries.iter().filter(|entry| !known.contains(&entry.key.as_str()));
        strangers.map(|entry| nearest(&entry.key, known.iter().copied())).any(|near| near == Some(key))
    }

    /// Whether the key is there and `null`.
    pub(super) fn is_null(&self, key: &str) -> bool {
        self.entry(key).is_some_and(|entry| entry.node.is_null())
    }

    pub(super) fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}
