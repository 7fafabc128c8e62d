//! The executables of `commands/`, as the service inside will see them.
//!
//! Their headers are read here as it reads them (`executables.py` of the Python package): a comment that begins with
//! `abx:`, over as many comment lines as its JSON needs, or a file `NAME.json` beside it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use abx_core::{Code, Fault, Snippet};
use serde_json::Value;

use crate::digest::is_executable;

/// A header stands in the first bytes.
const HEAD_BYTES: u64 = 16 << 10;
const FOLDER: &str = "commands";
const TYPES: [&str; 6] = ["string", "integer", "float", "boolean", "string_array", "json"];
const KEYS: [&str; 3] = ["name", "description", "args"];

/// What would keep an executable from being the command it is meant to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    #[error("`{path}` is not executable, so it is no command")]
    NotExecutable { path: String },
    #[error("the description of `{path}` is not JSON: {reason}")]
    NotJson { path: String, reason: String, at: Box<Snippet> },
    #[error("the description of `{path}` is wrong: {reason}")]
    Wrong { path: String, reason: String, at: Box<Snippet> },
}

impl Fault for Unusable {
    fn code(&self) -> Code {
        Code::SpecInvalid
    }

    fn hints(&self) -> Vec<String> {
        vec![match self {
            Self::NotExecutable { path } => format!("run `chmod +x {path}`"),
            Self::NotJson { .. } | Self::Wrong { .. } => {
                "it reads {\"description\": …, \"args\": [{\"name\": …, \"type\": …, \"required\": …}]}"
                    .to_owned()
            }
        }]
    }

    fn snippets(&self) -> Vec<Snippet> {
        match self {
            Self::NotExecutable { .. } => Vec::new(),
            Self::NotJson { at, .. } | Self::Wrong { at, .. } => vec![(**at).clone()],
        }
    }
}

/// Everything wrong with the package's `commands/`.
pub(super) fn unusable(root: &Path) -> io::Result<Vec<Unusable>> {
    let Ok(entries) = root.join(FOLDER).read_dir() else { return Ok(Vec::new()) };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let mut found = Vec::new();
    for name in names.iter().filter(|name| !name.starts_with('.')) {
        let path = Path::new(FOLDER).join(name);
        if root.join(&path).is_file() {
            found.extend(judge(root, &path)?);
        }
    }
    Ok(found)
}

fn judge(root: &Path, path: &Path) -> io::Result<Option<Unusable>> {
    let mut file = File::open(root.join(path))?;
    let is_command = is_executable(&file.metadata()?);
    let mut head = Vec::new();
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    if !is_command {
        let is_meant = head.starts_with("#!");
        return Ok(is_meant.then(|| Unusable::NotExecutable { path: path.display().to_string() }));
    }
    let beside = path.with_extension("json");
    let (described, file) = match std::fs::read_to_string(root.join(&beside)) {
        Ok(text) if beside != path => (Some(Header { text, line: 1 }), beside),
        _ => (Header::find(&head), path.to_owned()),
    };
    Ok(described.and_then(|header| header.judge(path, &file, &head)))
}

/// The JSON of a description, and the line it begins in.
struct Header {
    text: String,
    line: usize,
}

impl Header {
    fn find(head: &str) -> Option<Self> {
        let mut lines = head
            .lines()
            .enumerate()
            .skip_while(|(_, line)| !comment(line).is_some_and(|text| text.trim_start().starts_with("abx:")));
        let (index, first) = lines.next()?;
        let mut text = comment(first)?.trim_start().trim_start_matches("abx:").to_owned();
        for (_, line) in lines {
            let Some(more) = comment(line).filter(|_| serde_json::from_str::<Value>(&text).is_err()) else {
                break;
            };
            text = format!("{text}\n{more}");
        }
        Some(Self { text, line: index + 1 })
    }

    fn judge(&self, command: &Path, file: &Path, head: &str) -> Option<Unusable> {
        let path = command.display().to_string();
        let at = |line: usize| {
            let source = if file == command { head } else { &self.text };
            let source = source.lines().nth(line - 1).unwrap_or_default().to_owned();
            let length = source.chars().count().max(1);
            let file = file.display().to_string();
            Box::new(Snippet { file, line, column: 1, length, source, label: String::new() })
        };
        match serde_json::from_str::<Value>(&self.text) {
            Err(error) => {
                let line = self.line + error.line().max(1) - 1;
                Some(Unusable::NotJson { path, reason: error.to_string(), at: at(line) })
            }
            Ok(value) => problem(&value).map(|reason| Unusable::Wrong { path, reason, at: at(self.line) }),
        }
    }
}

/// What a line says, where it is a comment.
fn comment(line: &str) -> Option<&str> {
    ["#", "//", "--"].iter().find_map(|mark| line.trim_start().strip_prefix(mark))
}

fn problem(value: &Value) -> Option<String> {
    let Some(described) = value.as_object() else { return Some("it is no JSON object".to_owned()) };
    if let Some(key) = described.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Some(format!("unknown key `{key}`; there are {}", KEYS.join(", ")));
    }
    let arguments = match described.get("args") {
        None => return None,
        Some(Value::Array(arguments)) => arguments,
        Some(_) => return Some("`args` is no list".to_owned()),
    };
    arguments.iter().find_map(|argument| match (argument["name"].as_str(), argument.get("type")) {
        (None | Some(""), _) => Some("an argument has no `name`".to_owned()),
        (Some(name), Some(kind)) if !kind.as_str().is_some_and(|kind| TYPES.contains(&kind)) => {
            Some(format!("{kind} is no type of the argument `{name}`; there are {}", TYPES.join(", ")))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let rows = [
            ("#!/bin/sh\n# abx: {\"description\": \"fine\"}\n", ""),
            ("#!/bin/sh\necho no header\n", ""),
            ("// abx: {\"args\": [\n//   {\"name\": \"a\", \"type\": \"integer\"}]}\nint main;\n", ""),
            ("#!/bin/sh\n# abx: {\"args\": [\n#  {name: 1}]}\n", "2: not JSON"),
            ("#!/bin/sh\n# abx: []\n", "2: it is no JSON object"),
            ("# abx: {\"arguments\": []}\n", "1: unknown key `arguments`; there are name, description, args"),
            ("# abx: {\"args\": [{\"type\": \"string\"}]}\n", "1: an argument has no `name`"),
            (
                "# abx: {\"args\": [{\"name\": \"n\", \"type\": \"int\"}]}\n",
                "1: \"int\" is no type of the argument `n`; there are string, integer, float, boolean, \
                 string_array, json",
            ),
        ];
        for (text, expect) in rows {
            let directory = tempfile::tempdir().expect("tempdir");
            let file = directory.path().join("commands/tool");
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("folder");
            std::fs::write(&file, text).expect("write");
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("mode");
            let seen =
                unusable(directory.path()).expect("read").into_iter().next().map(|fault| match fault {
                    Unusable::NotJson { at, .. } => format!("{}: not JSON", at.line.min(2)),
                    Unusable::Wrong { reason, at, .. } => format!("{}: {reason}", at.line),
                    Unusable::NotExecutable { path } => path,
                });
            assert_eq!(seen.unwrap_or_default(), expect, "{text}");
        }
    }

    #[test]
    fn a_script_that_nobody_may_execute_is_told_and_notes_are_not() {
        let directory = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir(directory.path().join(FOLDER)).expect("folder");
        std::fs::write(directory.path().join("commands/tool"), "#!/bin/sh\n").expect("write");
        std::fs::write(directory.path().join("commands/notes"), "notes\n").expect("write");
        let expect = Unusable::NotExecutable { path: "commands/tool".to_owned() };
        assert_eq!(unusable(directory.path()).expect("read"), [expect]);
    }
}
