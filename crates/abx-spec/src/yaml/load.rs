//! Events of the parser → tree.

use std::collections::HashMap;

use granit_parser::{
    Event, Marker, Options, Parser, ScalarStyle, ScanError, Span as Range, StrInput, StructureStyle,
};

use super::node::{Entry, Node, Scalar, Span, Value};
use super::slips;
use crate::limits::{DEPTH, NODES};
use crate::problem::Problem;

/// What is wrong, and where.
pub(crate) type Found = (Problem, Span);

/// The one document of `text`, and what was wrong on the way. `None` where there is no tree to go on with;
/// then there is at least one problem.
pub(crate) fn load(text: &str) -> (Option<Node>, Vec<Found>) {
    load_up_to(text, NODES)
}

/// [`load`] with another limit of nodes, aliases counted as often as they are used.
pub(crate) fn load_up_to(text: &str, limit: usize) -> (Option<Node>, Vec<Found>) {
    let mut loader = Loader {
        parser: Parser::new_from_str_with_options(text, options()),
        lines: text.lines().collect(),
        anchors: HashMap::new(),
        nodes: 0,
        limit,
        found: Vec::new(),
    };
    let node = match loader.document() {
        Ok(node) => node,
        Err(fatal) => {
            loader.found.push(*fatal);
            None
        }
    };
    (node, loader.found)
}

fn options() -> Options {
    granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: 2 * DEPTH,
        block_nesting_limit: 2 * DEPTH,
    }
}

struct Loader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    lines: Vec<&'t str>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    limit: usize,
    found: Vec<Found>,
}

/// Stops the loading; boxed because it is rare and large.
type Fatal = Box<Found>;

impl<'t> Loader<'t> {
    fn document(&mut self) -> Result<Option<Node>, Fatal> {
        let mut root = None;
        while let Some((event, range)) = self.next()? {
            match event {
                Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
                Event::DocumentStart(..) if root.is_some() => {
                    self.found.push((Problem::SecondDocument, self.span(&range)));
                    return Ok(root);
                }
                Event::DocumentStart(..) => {}
                event => root = Some(self.node(event, &range, 0)?),
            }
        }
        if root.is_none() {
            self.found.push((Problem::Empty, Span { line: 1, column: 1, length: 1 }));
        }
        Ok(root)
    }

    fn next(&mut self) -> Result<Option<(Event<'t>, Range)>, Fatal> {
        self.parser.next_event().transpose().map_err(|error| self.syntax(&error))
    }

    fn syntax(&self, error: &ScanError) -> Fatal {
        let detail = error.info();
        let span = self.at(error.marker(), 1);
        let hint = slips::hint(error.kind(), &self.lines, span.line, span.column);
        Box::new((Problem::Syntax { detail, hint }, span))
    }

    /// The node `event` begins, with all its children.
    fn node(&mut self, event: Event<'t>, range: &Range, depth: usize) -> Result<Node, Fatal> {
        let span = self.span(range);
        self.count(1, span)?;
        if depth > DEPTH {
            return Err(Box::new((Problem::TooDeep { limit: DEPTH }, span)));
        }
        if let Some(tag) = event.tag().filter(|tag| !tag.is_yaml_core_schema()) {
            self.found.push((Problem::Tag { tag: tag.original() }, span));
        }
        let anchor = event.anchor_id();
        let tagged_text = event.tag().is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
        let node = match event {
            Event::Scalar(text, style, ..) => {
                let plain = style == ScalarStyle::Plain && !tagged_text;
                Node { span, value: Value::Scalar(Scalar { text: text.into_owned(), plain }), size: 1 }
            }
            Event::SequenceStart(style, ..) => self.list(span, style, depth)?,
            Event::MappingStart(style, ..) => self.map(span, style, depth)?,
            Event::Alias(id) => self.alias(id, span)?,
            _ => return Err(Box::new((Problem::Empty, span))),
        };
        if let Some(id) = anchor {
            self.anchors.insert(id, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, mut span: Span, style: StructureStyle, depth: usize) -> Result<Node, Fatal> {
        let mut items = Vec::new();
        let mut size = 1;
        while let Some((event, range)) = self.next()? {
            if event == Event::SequenceEnd {
                close(&mut span, style, &range);
                break;
            }
            let item = self.node(event, &range, depth + 1)?;
            size += item.size;
            items.push(item);
        }
        Ok(Node { span, value: Value::List(items), size })
    }

    fn map(&mut self, mut span: Span, style: StructureStyle, depth: usize) -> Result<Node, Fatal> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut size = 1;
        while let Some((event, range)) = self.next()? {
            if event == Event::MappingEnd {
                close(&mut span, style, &range);
                break;
            }
            let key = self.node(event, &range, depth + 1)?;
            let Some((event, range)) = self.next()? else { break };
            let node = self.node(event, &range, depth + 1)?;
            size += node.size + 1;
            let key_span = key.span;
            let Value::Scalar(Scalar { text: key, .. }) = key.value else {
                self.found.push((Problem::KeyNotScalar, key_span));
                continue;
            };
            match entries.iter().find(|entry| entry.key == key) {
                Some(first) => {
                    self.found
                        .push((Problem::DuplicateKey { key, first_line: first.key_span.line }, key_span));
                }
                None => entries.push(Entry { key, key_span, node }),
            }
        }
        Ok(Node { span, value: Value::Map(entries), size })
    }

    /// The anchored node again, standing where the alias stands.
    fn alias(&mut self, id: usize, span: Span) -> Result<Node, Fatal> {
        let Some(size) = self.anchors.get(&id).map(|node| node.size) else {
            return Err(Box::new((Problem::AliasWithinItself, span)));
        };
        self.count(size, span)?;
        Ok(Node { span, ..self.anchors[&id].clone() })
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), Fatal> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > self.limit {
            Err(Box::new((Problem::TooManyNodes { limit: self.limit }, span)))
        } else {
            Ok(())
        }
    }

    fn span(&self, range: &Range) -> Span {
        let length = if range.start.line() == range.end.line() {
            range.end.col().saturating_sub(range.start.col())
        } else {
            // Of a value over several lines, its first line.
            self.line(range.start.line()).trim_end().chars().count().saturating_sub(range.start.col())
        };
        self.at(&range.start, length)
    }

    /// A place that exists in the file: the parser reports the end of the file one line too far.
    fn at(&self, marker: &Marker, length: usize) -> Span {
        let line = marker.line().clamp(1, self.lines.len().max(1));
        let width = self.line(line).chars().count();
        let column = if line == marker.line() { marker.col().min(width) + 1 } else { width + 1 };
        Span { line, column, length: length.max(1) }
    }

    fn line(&self, line: usize) -> &'t str {
        self.lines.get(line.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// Of a collection in brackets on one line, the span ends behind the closing one.
fn close(span: &mut Span, style: StructureStyle, end: &Range) {
    if style == StructureStyle::Flow && end.end.line() == span.line {
        span.length = (end.end.col() + 1).saturating_sub(span.column).max(1);
    }
}
