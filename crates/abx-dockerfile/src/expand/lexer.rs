//! How words are expanded: what is asked, and what comes out.

use crate::expand::ExpandError;
use crate::expand::reader::Reader;

/// How words are read.
#[derive(Clone, Copy, Debug)]
pub struct Lexer {
    /// `\`, or what the `# escape=` directive says.
    pub escape: char,
    /// Quotes are letters as any other: the text of a here-document.
    pub keep_quotes: bool,
}

/// A word after expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    pub text: String,
    /// A variable stood in it.
    pub has_variables: bool,
    /// What the expansion took, in bytes read and written.
    pub cost: usize,
}

impl Lexer {
    /// Expands one word; `lookup` answers `None` for variables that are not set, which expand to nothing.
    ///
    /// # Errors
    /// Quotes or braces that are not closed, operators there are not, `${name:?}` of what is not set, and
    /// words too deep or too long.
    pub fn word<'a>(
        self,
        word: &str,
        lookup: &dyn Fn(&str) -> Option<&'a str>,
    ) -> Result<Expanded, ExpandError> {
        self.text(word, lookup).map_err(|(error, _)| error)
    }

    /// [`Lexer::word`] for a text of many lines: where an error begins, in bytes, comes with it.
    pub(crate) fn text<'a>(
        self,
        text: &str,
        lookup: &dyn Fn(&str) -> Option<&'a str>,
    ) -> Result<Expanded, (ExpandError, usize)> {
        let mut reader = Reader::new(self, text, lookup);
        match reader.read(None, false) {
            Ok(_) => {
                Ok(Expanded { text: reader.out.text, has_variables: reader.has_variables, cost: reader.made })
            }
            Err(error) => Err((error, text.len() - reader.outermost)),
        }
    }

    /// Expands a text to words: what is not quoted is split at white space, also within the value of a
    /// variable. Empty words are dropped.
    ///
    /// # Errors
    /// As [`Lexer::word`].
    pub fn words<'a>(
        self,
        text: &str,
        lookup: &dyn Fn(&str) -> Option<&'a str>,
    ) -> Result<Vec<String>, ExpandError> {
        let mut reader = Reader::new(self, text, lookup);
        reader.out.splits = true;
        reader.read(None, false)?;
        reader.out.end_word();
        Ok(reader.out.words)
    }
}
