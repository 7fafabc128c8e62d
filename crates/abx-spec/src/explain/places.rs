//! Where a file writes its keys, whichever form it has.

use crate::read::keys;
use crate::spec::Place;
use crate::yaml::{self, Entry, Node, Value};

/// Keys as the full form writes them, and the items of lists.
pub(super) struct Places {
    file: String,
    keys: Vec<(String, (usize, usize))>,
    items: Vec<(String, String, (usize, usize))>,
}

impl Places {
    /// Of a file that was read before without a fault.
    pub(super) fn read(text: &str, file: &str) -> Self {
        let mut places = Self { file: file.to_owned(), keys: Vec::new(), items: Vec::new() };
        let (root, _) = yaml::load(text.strip_prefix('\u{feff}').unwrap_or(text));
        if let Some(Value::Map(entries)) = root.as_ref().map(|root| &root.value) {
            places.walk("", entries, crate::read::is_shorthand(entries));
        }
        places
    }

    pub(super) fn of(&self, key: &str) -> Option<Place> {
        self.keys.iter().find(|(known, _)| known == key).map(|(_, at)| self.place(*at))
    }

    pub(super) fn of_item(&self, key: &str, text: &str) -> Option<Place> {
        let is_it = |(known, item, _): &&(String, String, _)| known == key && item == text;
        self.items.iter().find(is_it).map(|(.., at)| self.place(*at))
    }

    fn walk(&mut self, section: &str, entries: &[Entry], is_flat: bool) {
        for entry in entries {
            let path = crate::read::join(section, &entry.key);
            let path = match is_flat {
                true => keys::stands_for(&path).map_or(path, str::to_owned),
                false => path,
            };
            match &entry.node.value {
                Value::Map(inner) => self.walk(&path, inner, is_flat),
                Value::List(items) => self.list(&path, items),
                Value::Scalar(_) => {}
            }
            self.keys.push((path, (entry.key_span.line, entry.key_span.column)));
        }
    }

    fn list(&mut self, path: &str, items: &[Node]) {
        for item in items {
            if let Value::Scalar(scalar) = &item.value {
                self.items.push((path.to_owned(), scalar.text.clone(), (item.span.line, item.span.column)));
            }
        }
    }

    fn place(&self, (line, column): (usize, usize)) -> Place {
        Place { file: self.file.clone(), line, column }
    }
}
