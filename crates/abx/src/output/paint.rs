//! Colours, where they are wanted.

/// Wraps text in colours, or leaves it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Colours only if `on`.
    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    /// Whether colours are on.
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    /// For `error`.
    pub(crate) fn error(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// For `warning`.
    pub(crate) fn warning(self, text: &str) -> String {
        self.wrap("1;33", text)
    }

    /// For `help` and `note`.
    pub(crate) fn help(self, text: &str) -> String {
        self.wrap("1;36", text)
    }

    /// For what went well.
    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// For what must stand out.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// For frames and line numbers.
    pub(crate) fn frame(self, text: &str) -> String {
        self.wrap("1;34", text)
    }

    /// For what matters less.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, style: &str, text: &str) -> String {
        if self.on && !text.is_empty() { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
