//! The syntax tree.

use crate::near::nearest;
use crate::source::Span;

/// A whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// What the `# escape=` directive chose: `\` or a backtick.
    pub escape: char,
    /// The value of the `# syntax=` directive.
    pub frontend: Option<Word>,
    /// The instructions, in order.
    pub nodes: Vec<Node>,
}

/// A text with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub span: Span,
}

/// One instruction as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub keyword: Keyword,
    /// Flags before the arguments, quotes removed: `--chown=me`.
    pub flags: Vec<Word>,
    pub body: Body,
    /// The here-documents of the instruction, in order.
    pub heredocs: Vec<Heredoc>,
    /// The instruction as one line: continuations joined, comments dropped, here-documents left out.
    pub text: String,
    /// From the keyword to the end of its last line, here-documents left out.
    pub span: Span,
}

/// The arguments of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// None at all.
    Empty,
    /// `["a", "b"]`.
    Json(Vec<Word>),
    /// Words between white space, quotes kept.
    Words(Vec<Word>),
    /// Everything as it stands.
    Text(Word),
    /// `name=value`, quotes kept.
    Pairs(Vec<Pair>),
    /// `HEALTHCHECK`'s kind of check and its command.
    Check(Word, Box<Self>),
    /// The instruction after `ONBUILD`.
    Trigger(Box<Node>),
}

/// One variable or label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub name: Word,
    pub value: Word,
    /// Written as `name value`, the old form.
    pub spaced: bool,
}

/// A here-document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heredoc {
    /// The word that ends it.
    pub name: String,
    /// Its lines as they are written, tabs included.
    pub content: String,
    /// Variables in it are expanded: the word after `<<` is not quoted.
    pub expand: bool,
    /// Leading tabs are dropped: `<<-`.
    pub chomp: bool,
    /// The place of `<<EOF`.
    pub span: Span,
    /// The place of its lines.
    pub lines: Span,
}

macro_rules! keywords {
    ($($variant:ident $word:literal;)*) => {
        /// What an instruction begins with.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Keyword {
            $($variant,)*
        }

        impl Keyword {
            const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// In capitals, as it is usually written.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    };
}

keywords! {
    Add "ADD"; Arg "ARG"; Cmd "CMD"; Copy "COPY"; Entrypoint "ENTRYPOINT"; Env "ENV"; Expose "EXPOSE"; From "FROM";
    Healthcheck "HEALTHCHECK"; Label "LABEL"; Maintainer "MAINTAINER"; Onbuild "ONBUILD"; Run "RUN"; Shell "SHELL";
    Stopsignal "STOPSIGNAL"; User "USER"; Volume "VOLUME"; Workdir "WORKDIR";
}

impl Keyword {
    /// In any letter case.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|keyword| keyword.as_str().eq_ignore_ascii_case(word))
    }

    /// What a misspelt word was meant to be.
    pub(crate) fn near(word: &str) -> Option<Self> {
        nearest(word, Self::ALL.iter().map(|keyword| keyword.as_str())).and_then(Self::from_word)
    }

    /// Whether here-documents may follow.
    pub(crate) fn takes_heredocs(self) -> bool {
        matches!(self, Self::Run | Self::Copy | Self::Add)
    }
}

impl std::fmt::Display for Keyword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
