//! The older `custom_commands`, and the functions they become.

use std::fmt::Write;

use crate::read::Reader;
use crate::yaml::{Node, Value};

const COMMAND: &[&str] = &["cmd", "description", "cwd", "timeout", "args"];
const ARGUMENT: &[&str] = &["name", "default", "description", "required", "type"];

/// A named command that runs a line of shell.
#[derive(Default)]
pub(super) struct Command {
    pub(super) name: String,
    /// `{name}` stands for an argument's value.
    line: String,
    description: Option<String>,
    cwd: Option<String>,
    /// Seconds.
    timeout: Option<f64>,
    arguments: Vec<Argument>,
}

struct Argument {
    name: String,
    default: Option<String>,
    description: Option<String>,
}

/// Reads all of them; what cannot be understood is a fault.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node) -> Vec<Command> {
    let Value::Map(entries) = &node.value else {
        reader.wrong_type(node, "custom_commands", "a map of names to commands", None);
        return Vec::new();
    };
    let mut commands = Vec::new();
    for entry in entries {
        let mut command = match &entry.node.value {
            Value::Scalar(_) => {
                let line = reader.text(&entry.node, &entry.key).map(|line| line.value);
                Command { line: line.unwrap_or_default(), ..Command::default() }
            }
            _ => command(reader, &entry.node),
        };
        command.name.clone_from(&entry.key);
        commands.push(command);
    }
    commands
}

fn command(reader: &mut Reader<'_>, node: &Node) -> Command {
    let fields = reader.fields(node, "custom_commands", COMMAND);
    let line = fields.get("cmd").and_then(|node| reader.text(node, "cmd"));
    if fields.get("cmd").is_none() {
        reader.fault(crate::Problem::Missing { key: "cmd" }, node.span);
    }
    let mut arguments = Vec::new();
    for node in reader.items(&fields, "", "args") {
        arguments.extend(argument(reader, node));
    }
    // A parameter without a default cannot follow one that has one.
    arguments.sort_by_key(|argument| argument.default.is_some());
    Command {
        name: String::new(),
        line: line.map(|line| line.value).unwrap_or_default(),
        description: reader.free_text(&fields, "", "description"),
        cwd: fields.get("cwd").and_then(|node| reader.text(node, "cwd")).map(|cwd| cwd.value),
        timeout: fields.get("timeout").and_then(|node| reader.float(node, "timeout", 0.0..=604_800.0)),
        arguments,
    }
}

fn argument(reader: &mut Reader<'_>, node: &Node) -> Option<Argument> {
    if let Value::Scalar(_) = &node.value {
        let name = reader.text(node, "args")?.value;
        return Some(Argument { name, default: None, description: None });
    }
    let fields = reader.fields(node, "custom_commands", ARGUMENT);
    let Some(name) = fields.get("name") else {
        reader.fault(crate::Problem::Missing { key: "name" }, node.span);
        return None;
    };
    let name = reader.text(name, "name")?.value;
    // Whatever it looks like, it ends as a word of a command line.
    let default = fields.get("default").and_then(|node| match &node.value {
        Value::Scalar(scalar) => Some(scalar.text.clone()),
        _ => {
            reader.wrong_type(node, "default", "a single value", None);
            None
        }
    });
    Some(Argument { name, default, description: reader.free_text(&fields, "", "description") })
}

const HEAD: &str = "\
\"\"\"Named commands of this template: `abx commands ID` lists them, `abx run ID NAME --arg K=V` calls one.\"\"\"

import re
import shlex
import subprocess

";

const SHELL: &str = "

def _shell(line, cwd=None, timeout=None, **values):
    \"\"\"Runs a line of shell in which `{name}` stands for a value, quoted so that it stays one word.\"\"\"
    line = re.sub(r\"\\{(\\w+)\\}\", lambda it: shlex.quote(str(values[it[1]])) if it[1] in values else it[0], line)
    done = subprocess.run([\"/bin/sh\", \"-c\", line], cwd=cwd, timeout=timeout, capture_output=True, text=True)
    return {\"stdout\": done.stdout, \"stderr\": done.stderr, \"exit_code\": done.returncode}
";

/// A Python file that registers every command.
pub(super) fn write(commands: &[Command]) -> String {
    let mut file = HEAD.to_owned();
    let registers = commands.iter().any(|command| is_identifier(&command.name));
    let renames = commands.iter().any(|command| !is_identifier(&command.name));
    if registers {
        file.push_str("from agent_sandbox import sandbox\n");
    }
    if renames {
        file.push_str("from agent_sandbox.server import command\n");
    }
    file.push_str(SHELL);
    for command in commands {
        function(&mut file, command);
    }
    file
}

fn function(file: &mut String, command: &Command) {
    let decorator = match is_identifier(&command.name) {
        true => "@sandbox.register".to_owned(),
        false => format!("@command(name={})", python(&command.name)),
    };
    let parameters: Vec<String> = command.arguments.iter().map(parameter).collect();
    let _ = write!(
        file,
        "\n\n{decorator}\ndef {}({}) -> dict:\n",
        identifier(&command.name),
        parameters.join(", ")
    );
    let mut told: Vec<String> = command.description.iter().cloned().collect();
    let described = command.arguments.iter().filter_map(|argument| {
        argument.description.as_ref().map(|text| format!("{}: {text}", identifier(&argument.name)))
    });
    told.extend(described);
    if !told.is_empty() {
        let told = told.join("\n\n    ").replace('\\', "\\\\").replace("\"\"\"", "'''");
        let _ = writeln!(file, "    \"\"\"{told}\"\"\"");
    }
    let mut call = vec![python(&command.line)];
    call.extend(command.cwd.as_deref().map(|cwd| format!("cwd={}", python(cwd))));
    call.extend(command.timeout.map(|seconds| format!("timeout={seconds}")));
    call.extend(values(&command.arguments));
    let _ = writeln!(file, "    return _shell({})", call.join(", "));
}

fn parameter(argument: &Argument) -> String {
    let name = identifier(&argument.name);
    match &argument.default {
        Some(default) => format!("{name}: str = {}", python(default)),
        None => format!("{name}: str"),
    }
}

/// The values for the placeholders; names that Python does not take go through a map.
fn values(arguments: &[Argument]) -> Vec<String> {
    let mut values = Vec::new();
    for argument in arguments {
        let name = identifier(&argument.name);
        values.push(match name == argument.name {
            true => format!("{name}={name}"),
            false => format!("**{{{}: {name}}}", python(&argument.name)),
        });
    }
    values
}

fn is_identifier(name: &str) -> bool {
    identifier(name) == name
}

/// The name as Python takes it.
fn identifier(name: &str) -> String {
    const RESERVED: &[&str] = &[
        "False",
        "None",
        "True",
        "and",
        "as",
        "assert",
        "async",
        "await",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "except",
        "finally",
        "for",
        "from",
        "global",
        "if",
        "import",
        "in",
        "is",
        "lambda",
        "nonlocal",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "try",
        "while",
        "with",
        "yield",
        // What the file itself uses.
        "command",
        "cwd",
        "line",
        "re",
        "sandbox",
        "shlex",
        "subprocess",
        "timeout",
        "_shell",
    ];
    let keep = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let mut word: String = name.chars().map(keep).collect();
    if word.is_empty() || word.starts_with(|first: char| first.is_ascii_digit()) {
        word.insert(0, '_');
    }
    if RESERVED.contains(&word.as_str()) {
        word.push('_');
    }
    word
}

/// A string literal of Python; the escapes of a debug print but for those of code points.
fn python(text: &str) -> String {
    let mut literal = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => literal.extend(['\\', letter]),
            '\n' => literal.push_str("\\n"),
            letter if letter.is_control() => {
                let _ = write!(literal, "\\u{:04x}", letter as u32);
            }
            letter => literal.push(letter),
        }
    }
    literal.push('"');
    literal
}
