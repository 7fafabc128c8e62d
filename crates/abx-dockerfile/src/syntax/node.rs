//! One logical line → [`Node`].

use crate::diagnostic::Findings;
use crate::problem::Problem;
use crate::source::Span;
use crate::syntax::line::Slice;
use crate::syntax::tree::{Body, Keyword, Node, Pair, Word};
use crate::syntax::{flag, json, words};

/// What stops a node from being read.
type Refusal = (Problem, Span);

/// What is known of a line, were it as faulty as it may.
pub(crate) struct Read {
    pub(crate) node: Option<Node>,
    /// Here-documents may follow, also where the keyword is merely close to one that takes them.
    pub(crate) takes_heredocs: bool,
}

/// Reads the instruction in `line`.
pub(crate) fn read(line: Slice<'_>, escape: char, findings: &mut Findings<'_>) -> Read {
    let line = line.trim();
    let (word, _) = words::first(line);
    let Some(keyword) = Keyword::from_word(word.text()) else {
        let near = Keyword::near(word.text());
        findings.fault(Problem::UnknownInstruction { word: word.text().to_owned(), near }, word.span());
        return Read { node: None, takes_heredocs: near.is_some_and(Keyword::takes_heredocs) };
    };
    match node(keyword, line, escape) {
        Ok(node) => {
            let inner = if let Body::Trigger(inner) = &node.body { inner } else { &node };
            let takes_heredocs = inner.keyword.takes_heredocs() && !matches!(inner.body, Body::Json(_));
            Read { node: Some(node), takes_heredocs }
        }
        Err((problem, span)) => {
            findings.fault(problem, span);
            Read { node: None, takes_heredocs: keyword.takes_heredocs() }
        }
    }
}

fn node(keyword: Keyword, line: Slice<'_>, escape: char) -> Result<Node, Refusal> {
    let (_, rest) = words::first(line);
    let (flags, rest) = flag::split(rest);
    let body = if rest.is_empty() { Body::Empty } else { body(keyword, rest, escape)? };
    Ok(Node { keyword, flags, body, heredocs: Vec::new(), text: line.text().to_owned(), span: line.span() })
}

fn body(keyword: Keyword, rest: Slice<'_>, escape: char) -> Result<Body, Refusal> {
    Ok(match keyword {
        Keyword::Run | Keyword::Cmd | Keyword::Entrypoint | Keyword::Shell => command(rest)?,
        Keyword::Add | Keyword::Copy | Keyword::Volume => match json::array(rest)? {
            Some(strings) => Body::Json(strings),
            None => Body::Words(all(words::plain(rest))),
        },
        Keyword::Env | Keyword::Label => Body::Pairs(pairs(keyword, rest, escape)?),
        Keyword::Arg => Body::Words(all(words::quoted(rest, escape))),
        Keyword::From | Keyword::Expose => Body::Words(all(words::plain(rest))),
        Keyword::Maintainer | Keyword::Stopsignal | Keyword::User | Keyword::Workdir => {
            Body::Text(rest.word())
        }
        Keyword::Healthcheck => {
            let (kind, rest) = words::first(rest);
            let check = if rest.is_empty() { Body::Empty } else { command(rest)? };
            Body::Check(kind.word(), Box::new(check))
        }
        Keyword::Onbuild => Body::Trigger(Box::new(trigger(rest, escape)?)),
    })
}

fn all(slices: Vec<Slice<'_>>) -> Vec<Word> {
    slices.into_iter().map(Slice::word).collect()
}

fn command(rest: Slice<'_>) -> Result<Body, Refusal> {
    Ok(json::array(rest)?.map_or_else(|| Body::Text(rest.word()), Body::Json))
}

fn pairs(keyword: Keyword, rest: Slice<'_>, escape: char) -> Result<Vec<Pair>, Refusal> {
    let words = words::quoted(rest, escape);
    if words.first().is_none_or(|word| !word.text().contains('=')) {
        let (name, value) = words::first(rest);
        if value.is_empty() {
            let name_text = name.text().to_owned();
            return Err((Problem::NoValue { keyword, name: name_text }, name.span()));
        }
        return Ok(vec![Pair { name: name.word(), value: value.word(), spaced: true }]);
    }
    let pair = |word: Slice<'_>| {
        let Some(at) = word.text().find('=') else {
            return Err((Problem::NoEquals { keyword, word: word.text().to_owned() }, word.span()));
        };
        Ok(Pair { name: word.part(0..at).word(), value: word.from(at + 1).word(), spaced: false })
    };
    words.into_iter().map(pair).collect()
}

fn trigger(rest: Slice<'_>, escape: char) -> Result<Node, Refusal> {
    let (word, _) = words::first(rest);
    match Keyword::from_word(word.text()) {
        Some(keyword @ (Keyword::From | Keyword::Maintainer | Keyword::Onbuild)) => {
            Err((Problem::Trigger { keyword }, word.span()))
        }
        Some(keyword) => node(keyword, rest, escape),
        None => {
            let near = Keyword::near(word.text());
            Err((Problem::UnknownInstruction { word: word.text().to_owned(), near }, word.span()))
        }
    }
}
