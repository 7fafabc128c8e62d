//! Instructions that change an image's configuration alone.

use abx_dockerfile::{Action, Command, Healthcheck as Written, Word};

use super::history;
use super::stage::State;
use crate::env;

/// What runs commands in shell form where no `SHELL` is said.
const SHELL: [&str; 2] = ["/bin/sh", "-c"];

/// Lets an expanded instruction take effect on the configuration, and returns its line for the history; none for a
/// trigger, and none for arguments, whose line depends on who gave their values.
pub(super) fn apply(state: &mut State, action: &Action) -> Option<String> {
    Some(match action {
        Action::Arg(arguments) => {
            state.arguments.extend(arguments.iter().map(|argument| argument.name.text.clone()));
            return None;
        }
        Action::Env(variables) => {
            for variable in variables {
                env::set(&mut state.config.env, &variable.name.text, &*variable.value.text);
                env::set(&mut state.own.env, &variable.name.text, &*variable.value.text);
            }
            history::variables("ENV", variables)
        }
        Action::Label(labels) => {
            for label in labels {
                state.config.set_label(&label.name.text, &*label.value.text);
                env::set(&mut state.own.labels, &label.name.text, &*label.value.text);
            }
            history::variables("LABEL", labels)
        }
        Action::Cmd(command) => cmd(state, command.as_ref()),
        Action::Entrypoint(command) => entrypoint(state, command.as_ref()),
        Action::Expose(ports) => {
            add(&mut state.config.exposed_ports, ports);
            add(&mut state.own.expose, ports);
            history::ports(ports)
        }
        Action::Volume(paths) => {
            add(&mut state.config.volumes, paths);
            add(&mut state.own.volumes, paths);
            format!("VOLUME [{}]", joined(paths))
        }
        Action::User(user) => {
            state.config.user.clone_from(&user.text);
            state.own.user = Some(user.text.clone());
            format!("USER {}", user.text)
        }
        Action::Shell(shell) => {
            state.config.shell.clone_from(shell);
            state.own.shell = Some(shell.clone());
            format!("SHELL [{}]", shell.join(" "))
        }
        Action::Stopsignal(signal) => {
            state.config.stop_signal.clone_from(&signal.text);
            state.own.stop_signal = Some(signal.text.clone());
            format!("STOPSIGNAL {}", signal.text)
        }
        Action::Healthcheck(written) => healthcheck(state, written),
        Action::Maintainer(author) => {
            state.config.author.clone_from(author);
            format!("MAINTAINER {author}")
        }
        Action::Onbuild(onbuild) => {
            state.config.triggers.push(onbuild.text.clone());
            return None;
        }
        // These make layers.
        Action::Run(_) | Action::Copy(_) | Action::Add(_) | Action::Workdir(_) => return None,
    })
}

/// The words of a command; one in shell form gets its shell in front.
pub(super) fn words(state: &State, command: &Command) -> Vec<String> {
    match command {
        Command::Exec(words) => words.clone(),
        Command::Shell(line) => shell_with(state, line),
    }
}

/// The shell of `SHELL` with one more argument.
pub(super) fn shell_with(state: &State, argument: &str) -> Vec<String> {
    let shell = &state.config.shell;
    let mut words = if shell.is_empty() { SHELL.map(String::from).into() } else { shell.clone() };
    words.push(argument.to_owned());
    words
}

fn cmd(state: &mut State, command: Option<&Command>) -> String {
    let words = command.map(|command| words(state, command)).unwrap_or_default();
    state.config.cmd.clone_from(&words);
    state.own.cmd = Some(words.clone());
    state.has_cmd = true;
    history::quoted("CMD", &words)
}

/// A command that was made for another entry point does not fit this one.
fn entrypoint(state: &mut State, command: Option<&Command>) -> String {
    let words = command.map(|command| words(state, command)).unwrap_or_default();
    state.config.entrypoint.clone_from(&words);
    state.own.entrypoint = Some(words.clone());
    if !state.has_cmd {
        state.config.cmd.clear();
        state.own.cmd = None;
    }
    history::quoted("ENTRYPOINT", &words)
}

fn healthcheck(state: &mut State, written: &Written) -> String {
    let healthcheck = abx_source::dockerfile::said::healthcheck(written);
    let line = history::healthcheck(&healthcheck);
    state.config.healthcheck = Some(healthcheck.clone());
    state.own.healthcheck = Some(healthcheck);
    line
}

fn add(list: &mut Vec<String>, words: &[Word]) {
    for word in words {
        if !list.contains(&word.text) {
            list.push(word.text.clone());
        }
    }
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ")
}
