//! `COPY` and `ADD`.

use crate::expand::Lexer;
use crate::glob::Glob;
use crate::instruction::{Add, Copy, Files, Inline};
use crate::problem::Problem;
use crate::read::flags::Flags;
use crate::read::{Reader, value};
use crate::syntax::{Body, Heredoc, Node, Word, without_tabs};

pub(crate) fn copy(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Copy> {
    let known = ["from", "chown", "chmod", "link", "parents", "exclude*"];
    let mut flags = Flags::read(node, &known, reader);
    let from = flags.text("from", reader);
    if let Some(from) = from.as_ref().filter(|from| from.text.contains('$')) {
        let hint = "begin a stage with `FROM` and the variable, and copy from that stage";
        reader.fault(Problem::Variables { what: "--from", hint }, from.span);
    }
    let parents = flags.switch("parents", reader).unwrap_or(false);
    Some(Copy { files: files(node, &mut flags, reader)?, from, parents })
}

pub(crate) fn add(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Add> {
    let known = ["chown", "chmod", "link", "checksum", "keep-git-dir", "unpack", "exclude*"];
    let mut flags = Flags::read(node, &known, reader);
    let checksum = flags.text("checksum", reader);
    if let Some(checksum) = &checksum {
        reader.word(checksum, value::checksum);
    }
    let unpack = flags.switch("unpack", reader);
    if flags.switch("keep-git-dir", reader) == Some(true) {
        reader.fault(unsupported_git("--keep-git-dir"), node.span);
    }
    let files = files(node, &mut flags, reader)?;
    for source in files.sources.iter().filter(|source| is_git(&source.text)) {
        reader.fault(unsupported_git("ADD of a git repository"), source.span);
    }
    Some(Add { files, checksum, unpack })
}

/// Whether `ADD` takes the source for a git repository.
pub(crate) fn is_git(source: &str) -> bool {
    let path = source.split(['#', '?']).next().unwrap_or_default();
    let is_web = source.starts_with("http://") || source.starts_with("https://");
    source.starts_with("git@")
        || source.starts_with("git://")
        || source.starts_with("ssh://")
        || (is_web && path.ends_with(".git"))
}

pub(crate) fn unsupported_git(what: &str) -> Problem {
    let hint = "add the archive of a release by its URL, or clone in a RUN step";
    Problem::Unsupported { what: what.to_owned(), hint }
}

fn files(node: &Node, flags: &mut Flags, reader: &mut Reader<'_, '_>) -> Option<Files> {
    let chown = flags.text("chown", reader);
    if let Some(chown) = &chown {
        reader.word(chown, value::owner);
    }
    let chmod = flags.text("chmod", reader);
    if let Some(chmod) = &chmod {
        reader.word(chmod, value::mode);
    }
    let exclude = flags.texts("exclude", reader);
    for pattern in &exclude {
        reader.word(pattern, |text| Glob::new(text).map(drop));
    }
    let link = flags.switch("link", reader).unwrap_or(false);
    let words: &[Word] = match &node.body {
        Body::Words(words) | Body::Json(words) => words,
        _ => &[],
    };
    let [sources @ .., dest] = words else {
        reader.needs(node, "at least one source and a destination");
        return None;
    };
    if node.heredocs.iter().any(|heredoc| is_within(dest, heredoc)) {
        reader.fault(Problem::HeredocDestination, dest.span);
        return None;
    }
    let plain = |source: &&Word| !node.heredocs.iter().any(|heredoc| is_within(source, heredoc));
    let sources: Vec<Word> = sources.iter().filter(plain).cloned().collect();
    let inline: Vec<Inline> = node.heredocs.iter().map(|heredoc| inline(heredoc, reader)).collect();
    if sources.is_empty() && inline.is_empty() {
        reader.needs(node, "at least one source and a destination");
        return None;
    }
    for source in &sources {
        reader.filled(source, node.keyword, "source");
    }
    reader.filled(dest, node.keyword, "destination");
    Some(Files { sources, inline, dest: dest.clone(), chown, chmod, exclude, link })
}

/// Whether a word is the marker of a here-document, or a part of it.
fn is_within(word: &Word, heredoc: &Heredoc) -> bool {
    word.span.start >= heredoc.span.start && word.span.end <= heredoc.span.end
}

fn inline(heredoc: &Heredoc, reader: &mut Reader<'_, '_>) -> Inline {
    let text = match heredoc.chomp {
        true => without_tabs(&heredoc.content),
        false => heredoc.content.clone(),
    };
    let content = Word { text, span: heredoc.lines };
    if heredoc.expand {
        let lexer = Lexer { escape: reader.escape, keep_quotes: true };
        if let Err((error, at)) = lexer.text(&content.text, &|_| Some("x")) {
            let span = reader.findings.source().line_within(content.span, lines(&content.text[..at]));
            reader.fault(error.into(), span);
        }
    }
    Inline { name: heredoc.name.clone(), content, expand: heredoc.expand }
}

/// The line breaks in a text.
pub(crate) fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}
