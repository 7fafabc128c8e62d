//! Helpers on an image's configuration.

use crate::ImageConfig;

impl ImageConfig {
    /// The value of an environment variable.
    pub fn env(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Sets an environment variable: in its old place where it is there already, else at the end.
    pub fn set_env(&mut self, name: &str, value: impl Into<String>) {
        set(&mut self.env, name, value.into());
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Sets a label, in its old place where it is there already.
    pub fn set_label(&mut self, name: &str, value: impl Into<String>) {
        set(&mut self.labels, name, value.into());
    }
}

fn set(pairs: &mut Vec<(String, String)>, name: &str, value: String) {
    match pairs.iter_mut().find(|(key, _)| key == name) {
        Some((_, old)) => *old = value,
        None => pairs.push((name.to_owned(), value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_keeps_its_place_when_set_again() {
        let mut config = ImageConfig::default();
        for (name, value) in [("A", "1"), ("B", "2"), ("A", "3")] {
            config.set_env(name, value);
        }
        assert_eq!(config.env, [("A".to_owned(), "3".to_owned()), ("B".to_owned(), "2".to_owned())]);
        assert_eq!(config.env("A"), Some("3"));
        assert_eq!(config.env("C"), None);
    }
}
