//! Which words of an instruction are expanded, and what is checked then.

use super::Scope;
use crate::expand::Lexer;
use crate::glob::Glob;
use crate::instruction::{Action, Add, Argument, Copy, Files, Inline, Mount, MountKind, Run, Variable};
use crate::limits::STAGE_BYTES;
use crate::problem::Problem;
use crate::read::{argument_name, is_git, lines, unsupported_git, value};
use crate::source::{Source, Span};
use crate::syntax::{Keyword, Word};

type Refusal = (Problem, Span);
type Outcome<T> = Result<T, Refusal>;

pub(super) fn action(scope: &mut Scope, source: &Source, action: &Action) -> Outcome<Action> {
    Ok(match action {
        Action::Add(add) => Action::Add(self::add(scope, source, add)?),
        Action::Copy(copy) => {
            Action::Copy(Copy { files: files(scope, source, &copy.files, Keyword::Copy)?, ..copy.clone() })
        }
        Action::Arg(arguments) => Action::Arg(self::arguments(scope, arguments)?),
        Action::Env(given) => {
            let given = variables(scope, given, Keyword::Env)?;
            for Variable { name, value } in &given {
                scope.variables.set_environment(&name.text, value.text.clone());
            }
            Action::Env(given)
        }
        Action::Label(labels) => Action::Label(variables(scope, labels, Keyword::Label)?),
        Action::Expose(ports) => Action::Expose(expose(scope, ports)?),
        Action::Run(run) => {
            let mounts =
                run.mounts.iter().map(|mount| self::mount(scope, mount)).collect::<Result<_, _>>()?;
            Action::Run(Run { mounts, ..run.clone() })
        }
        Action::Stopsignal(signal) => Action::Stopsignal(checked(scope, signal, value::signal)?),
        Action::User(user) => Action::User(word(scope, user)?),
        Action::Workdir(path) => Action::Workdir(word(scope, path)?),
        Action::Volume(paths) => {
            let filled = |path| filled(scope, path, Keyword::Volume, "path");
            Action::Volume(paths.iter().map(filled).collect::<Result<_, _>>()?)
        }
        Action::Cmd(_)
        | Action::Entrypoint(_)
        | Action::Healthcheck(_)
        | Action::Maintainer(_)
        | Action::Onbuild(_)
        | Action::Shell(_) => action.clone(),
    })
}

fn word(scope: &mut Scope, word: &Word) -> Outcome<Word> {
    let lexer = Lexer { escape: scope.globals.escape, keep_quotes: false };
    let expanded = lexer.word(&word.text, &|name| scope.variables.get(name));
    let expanded = expanded.map_err(|error| (error.into(), word.span))?;
    spend(scope, expanded.cost, word.span)?;
    Ok(Word { text: expanded.text, span: word.span })
}

/// The content of a here-document, whose quotes mean nothing; an error points at its line.
fn document(scope: &mut Scope, source: &Source, content: &Word) -> Outcome<Word> {
    let lexer = Lexer { escape: scope.globals.escape, keep_quotes: true };
    let expanded = lexer.text(&content.text, &|name| scope.variables.get(name));
    let expanded = expanded.map_err(|(error, at)| {
        (error.into(), source.line_within(content.span, lines(&content.text[..at])))
    })?;
    spend(scope, expanded.cost, content.span)?;
    Ok(Word { text: expanded.text, span: content.span })
}

fn spend(scope: &mut Scope, cost: usize, span: Span) -> Outcome<()> {
    scope.cost += cost;
    if scope.cost > STAGE_BYTES { Err((Problem::StageTooLarge, span)) } else { Ok(()) }
}

fn checked(
    scope: &mut Scope,
    word: &Word,
    check: impl FnOnce(&str) -> Result<(), value::Refused>,
) -> Outcome<Word> {
    let word = self::word(scope, word)?;
    check(&word.text).map_err(|problem| (*problem, word.span))?;
    Ok(word)
}

fn filled(scope: &mut Scope, word: &Word, keyword: Keyword, what: &'static str) -> Outcome<Word> {
    checked(scope, word, |text| value::filled(text, keyword, what))
}

fn optional(scope: &mut Scope, word: Option<&Word>) -> Outcome<Option<Word>> {
    word.map(|word| self::word(scope, word)).transpose()
}

/// A flag whose variable is empty is as good as absent.
fn unless_empty(
    scope: &mut Scope,
    word: Option<&Word>,
    check: fn(&str) -> Result<(), value::Refused>,
) -> Outcome<Option<Word>> {
    let check = |text: &str| if text.is_empty() { Ok(()) } else { check(text) };
    let word = word.map(|word| checked(scope, word, check)).transpose()?;
    Ok(word.filter(|word| !word.text.is_empty()))
}

fn words(scope: &mut Scope, words: &[Word]) -> Outcome<Vec<Word>> {
    words.iter().map(|word| self::word(scope, word)).collect()
}

/// Every value is expanded with what was known before the instruction.
fn variables(scope: &mut Scope, variables: &[Variable], keyword: Keyword) -> Outcome<Vec<Variable>> {
    let variable = |variable: &Variable| {
        let name = checked(scope, &variable.name, |text| value::name(text, keyword))?;
        Ok(Variable { name, value: word(scope, &variable.value)? })
    };
    variables.iter().map(variable).collect()
}

fn arguments(scope: &mut Scope, arguments: &[Argument]) -> Outcome<Vec<Argument>> {
    let mut expanded = Vec::new();
    for argument in arguments {
        let name = checked(scope, &argument.name, argument_name)?;
        let given = scope.globals.inputs.arguments.get(&name.text).cloned();
        let value = match (given, &argument.value) {
            (Some(given), _) => Some(Word { text: given, span: name.span }),
            (None, Some(default)) => Some(word(scope, default)?),
            (None, None) => {
                let inherited = scope.globals.value(&name.text);
                inherited.map(|text| Word { text: text.to_owned(), span: name.span })
            }
        };
        if let Some(value) = &value {
            spend(scope, value.text.len(), value.span)?;
            scope.variables.set_argument(&name.text, value.text.clone());
        }
        expanded.push(Argument { name, value });
    }
    Ok(expanded)
}

/// A variable may hold several ports.
fn expose(scope: &mut Scope, words: &[Word]) -> Outcome<Vec<Word>> {
    let lexer = Lexer { escape: scope.globals.escape, keep_quotes: false };
    let mut ports: Vec<Word> = Vec::new();
    for word in words {
        let split = lexer.words(&word.text, &|name| scope.variables.get(name));
        for text in split.map_err(|error| (error.into(), word.span))? {
            let found = value::Ports::read(&text).map_err(|problem| (*problem, word.span))?;
            spend(scope, found.count() * "65535/tcp".len(), word.span)?;
            ports.extend(found.each().map(|text| Word { text, span: word.span }));
        }
    }
    Ok(ports)
}

fn add(scope: &mut Scope, source: &Source, add: &Add) -> Outcome<Add> {
    let files = files(scope, source, &add.files, Keyword::Add)?;
    if let Some(source) = files.sources.iter().find(|source| is_git(&source.text)) {
        return Err((unsupported_git("ADD of a git repository"), source.span));
    }
    let checksum = add.checksum.as_ref().map(|word| checked(scope, word, value::checksum)).transpose()?;
    Ok(Add { files, checksum, unpack: add.unpack })
}

fn files(scope: &mut Scope, text: &Source, files: &Files, keyword: Keyword) -> Outcome<Files> {
    let mut sources = Vec::new();
    for source in &files.sources {
        sources.push(filled(scope, source, keyword, "source")?);
    }
    let inline = |inline: &Inline| {
        let content = match inline.expand {
            true => document(scope, text, &inline.content)?,
            false => inline.content.clone(),
        };
        Ok(Inline { name: inline.name.clone(), content, expand: false })
    };
    let inline = files.inline.iter().map(inline).collect::<Result<_, _>>()?;
    let dest = filled(scope, &files.dest, keyword, "destination")?;
    let chown = unless_empty(scope, files.chown.as_ref(), value::owner)?;
    let chmod = unless_empty(scope, files.chmod.as_ref(), value::mode)?;
    let exclude = words(scope, &files.exclude)?;
    for pattern in &exclude {
        Glob::new(&pattern.text).map_err(|problem| (*problem, pattern.span))?;
    }
    Ok(Files { sources, inline, dest, chown, chmod, exclude, link: files.link })
}

fn mount(scope: &mut Scope, mount: &Mount) -> Outcome<Mount> {
    let mut kind = mount.kind.clone();
    match &mut kind {
        MountKind::Bind { target, source, .. } => {
            *target = word(scope, target)?;
            *source = word(scope, source)?;
        }
        MountKind::Cache { target, source, id, .. } => {
            *target = word(scope, target)?;
            *source = word(scope, source)?;
            *id = optional(scope, id.as_ref())?;
        }
        MountKind::Tmpfs { target, .. } => *target = word(scope, target)?,
        MountKind::Secret { id, target, env, .. } => {
            *id = word(scope, id)?;
            *target = optional(scope, target.as_ref())?;
            *env = optional(scope, env.as_ref())?;
        }
    }
    if let MountKind::Bind { target, .. } | MountKind::Cache { target, .. } | MountKind::Tmpfs { target, .. } =
        &kind
        && target.text.is_empty()
    {
        return Err((Problem::Blank { keyword: Keyword::Run, what: "target of a mount" }, target.span));
    }
    Ok(Mount { span: mount.span, kind })
}
