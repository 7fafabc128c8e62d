//! One node → one instruction.

use crate::instruction::{Action, Argument, Command, Instruction, Variable};
use crate::problem::Problem;
use crate::read::flags::Flags;
use crate::read::reader::Reader;
use crate::read::{files, health, onbuild, run, value};
use crate::syntax::{Body, Keyword, Node, Pair, Word};

/// What `node` means; `None` where it means nothing, which then is a fault. `FROM` is no instruction of a
/// stage.
pub(crate) fn instruction(node: Node, reader: &mut Reader<'_, '_>) -> Option<Instruction> {
    let action = action(&node, reader)?;
    Some(Instruction { text: node.text, span: node.span, action })
}

fn action(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Action> {
    match node.keyword {
        Keyword::Add => return files::add(node, reader).map(Action::Add),
        Keyword::Copy => return files::copy(node, reader).map(Action::Copy),
        Keyword::Run => return run::run(node, reader).map(Action::Run),
        Keyword::Healthcheck => return health::healthcheck(node, reader).map(Action::Healthcheck),
        _ => {}
    }
    Flags::read(node, &[], reader);
    match node.keyword {
        Keyword::Arg => arguments(node, reader).map(Action::Arg),
        Keyword::Cmd => optional_command(node, reader).map(Action::Cmd),
        Keyword::Entrypoint => optional_command(node, reader).map(Action::Entrypoint),
        Keyword::Env => variables(node, reader).map(Action::Env),
        Keyword::Label => variables(node, reader).map(Action::Label),
        Keyword::Expose => expose(node, reader),
        Keyword::Maintainer => text(node, reader).map(|word| Action::Maintainer(word.text)),
        Keyword::Onbuild => onbuild::onbuild(node, reader).map(Action::Onbuild),
        Keyword::Shell => shell(node, reader),
        Keyword::Stopsignal => {
            let word = text(node, reader)?;
            reader.word(&word, value::signal);
            Some(Action::Stopsignal(word))
        }
        Keyword::User => filled(node, "user", reader).map(Action::User),
        Keyword::Workdir => filled(node, "path", reader).map(Action::Workdir),
        Keyword::Volume => volumes(node, reader),
        Keyword::Add | Keyword::Copy | Keyword::Run | Keyword::Healthcheck | Keyword::From => None,
    }
}

fn text(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Word> {
    if let Body::Text(word) = &node.body {
        return Some(word.clone());
    }
    reader.needs(node, "an argument");
    None
}

fn filled(node: &Node, what: &'static str, reader: &mut Reader<'_, '_>) -> Option<Word> {
    let word = text(node, reader)?;
    reader.filled(&word, node.keyword, what);
    Some(word)
}

/// A command in either form; `None` where there is none.
pub(crate) fn command(body: &Body, reader: &mut Reader<'_, '_>) -> Option<Command> {
    match body {
        Body::Json(words) if words.is_empty() => None,
        Body::Json(words) => Some(Command::Exec(strings(words, reader))),
        Body::Text(word) => {
            if word.text.starts_with('[') && word.text.ends_with(']') && word.text.contains(',') {
                reader.findings.warn(Problem::NotArray, word.span);
            }
            Some(Command::Shell(word.text.clone()))
        }
        _ => None,
    }
}

/// The arguments of a program, which cannot hold `\u0000`.
fn strings(words: &[Word], reader: &mut Reader<'_, '_>) -> Vec<String> {
    if let Some(word) = words.iter().find(|word| word.text.contains('\0')) {
        reader.fault(Problem::Nul, word.span);
    }
    words.iter().map(|word| word.text.clone()).collect()
}

fn optional_command(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Option<Command>> {
    if matches!(node.body, Body::Empty) {
        reader.needs(node, "a command");
        return None;
    }
    Some(command(&node.body, reader))
}

fn variables(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Vec<Variable>> {
    let Body::Pairs(pairs) = &node.body else {
        reader.needs(node, "at least one `name=value`");
        return None;
    };
    let variable = |Pair { name, value, .. }: &Pair| {
        reader.word(name, |text| value::name(text, node.keyword));
        reader.syntax(value);
        Variable { name: name.clone(), value: value.clone() }
    };
    Some(pairs.iter().map(variable).collect())
}

/// The arguments of `ARG`.
pub(crate) fn arguments(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Vec<Argument>> {
    let words = match &node.body {
        Body::Words(words) if !words.is_empty() => words,
        _ => {
            reader.needs(node, "at least one name");
            return None;
        }
    };
    let argument = |word: &Word| {
        let (name, value) = match word.text.split_once('=') {
            Some((name, value)) => (part(word, 0, name), Some(part(word, name.len() + 1, value))),
            None => (word.clone(), None),
        };
        reader.word(&name, argument_name);
        value.iter().for_each(|value| reader.syntax(value));
        Argument { name, value }
    };
    Some(words.iter().map(argument).collect())
}

/// Checks the name of a build argument.
pub(crate) fn argument_name(text: &str) -> Result<(), value::Refused> {
    let good = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    if good { Ok(()) } else { Err(Box::new(Problem::ArgumentName { name: text.to_owned() })) }
}

fn part(word: &Word, at: usize, text: &str) -> Word {
    let start = (word.span.start + at).min(word.span.end);
    let end = (start + text.len()).min(word.span.end);
    Word { text: text.to_owned(), span: crate::source::Span { start, end } }
}

fn expose(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Action> {
    let words = match &node.body {
        Body::Words(words) if !words.is_empty() => words,
        _ => {
            reader.needs(node, "at least one port");
            return None;
        }
    };
    for word in words {
        reader.word(word, |text| value::Ports::read(text).map(drop));
        if word.text.contains(':') && !word.text.contains('$') {
            reader.findings.warn(Problem::HostPort { text: word.text.clone() }, word.span);
        }
    }
    Some(Action::Expose(words.clone()))
}

fn shell(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Action> {
    match &node.body {
        Body::Json(words) if !words.is_empty() => Some(Action::Shell(strings(words, reader))),
        _ => {
            reader.needs(node, "an array such as `[\"/bin/bash\", \"-c\"]`");
            None
        }
    }
}

fn volumes(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Action> {
    let words = match &node.body {
        Body::Words(words) | Body::Json(words) if !words.is_empty() => words,
        _ => {
            reader.needs(node, "at least one path");
            return None;
        }
    };
    for word in words {
        reader.filled(word, node.keyword, "path");
    }
    Some(Action::Volume(words.clone()))
}
