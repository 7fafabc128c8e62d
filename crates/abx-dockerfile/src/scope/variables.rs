//! `ENV` and `ARG` by name.

use std::collections::HashMap;

/// In the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    list: Vec<Variable>,
    index: HashMap<String, usize>,
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    /// The value of `ENV`, which the image keeps.
    environment: Option<String>,
    /// The value of an `ARG` that came after it.
    argument: Option<String>,
}

impl Variable {
    fn value(&self) -> Option<&str> {
        self.argument.as_deref().or(self.environment.as_deref())
    }
}

impl Variables {
    fn entry(&mut self, name: &str) -> &mut Variable {
        let index = *self.index.entry(name.to_owned()).or_insert(self.list.len());
        if index == self.list.len() {
            self.list.push(Variable { name: name.to_owned(), environment: None, argument: None });
        }
        &mut self.list[index]
    }

    pub(super) fn set_environment(&mut self, name: &str, value: String) {
        let variable = self.entry(name);
        variable.environment = Some(value);
        variable.argument = None;
    }

    pub(super) fn set_argument(&mut self, name: &str, value: String) {
        self.entry(name).argument = Some(value);
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.index.get(name).and_then(|index| self.list[*index].value())
    }

    pub(super) fn image(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().filter_map(|variable| Some((&*variable.name, variable.environment.as_deref()?)))
    }

    pub(super) fn arguments(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().filter_map(|variable| Some((&*variable.name, variable.argument.as_deref()?)))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().filter_map(|variable| Some((&*variable.name, variable.value()?)))
    }
}
