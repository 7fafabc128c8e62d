//! The templates that come with the program.

/// A template package inside the program.
#[derive(Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The folder's name, which is the template's.
    pub name: &'static str,
    /// In the order of their paths.
    pub files: &'static [EmbeddedFile],
}

/// One file of it.
#[derive(Debug, PartialEq, Eq)]
pub struct EmbeddedFile {
    /// Relative to the package.
    pub path: &'static str,
    pub executable: bool,
    pub content: &'static [u8],
}

static BUILTINS: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/builtins.rs"));

/// All of them, in the order of their names.
pub fn builtins() -> &'static [Builtin] {
    BUILTINS
}

impl Builtin {
    /// The file at a path relative to the package.
    pub fn file(&self, path: &str) -> Option<&'static EmbeddedFile> {
        self.files.iter().find(|file| file.path == path)
    }
}
