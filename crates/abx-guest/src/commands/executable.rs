//! Executables that templates keep in `commands/`, and how they describe themselves, as `executables.py` of the Python
//! package reads it.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A description stands in the first bytes.
const HEAD_BYTES: u64 = 16 << 10;

/// One of them.
#[derive(Debug)]
pub(super) struct Executable {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) description: String,
    pub(super) arguments: Vec<Argument>,
}

/// One of its arguments, as it is described and listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Argument {
    pub(super) name: String,
    #[serde(rename = "type", default = "string")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) required: bool,
    #[serde(default)]
    pub(super) default: Value,
    #[serde(default)]
    description: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Described {
    name: Option<String>,
    description: String,
    args: Vec<Argument>,
}

fn string() -> String {
    "string".to_owned()
}

/// Every executable of every template in `kept`, in order of names; of one name the last template's.
///
/// # Errors
/// What is wrong with the first description that cannot be read.
pub(super) fn find(kept: &Path) -> Result<Vec<Executable>, String> {
    let mut found: Vec<Executable> = Vec::new();
    for template in listed(kept) {
        for path in listed(&template.join("commands")) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_command = path
                .metadata()
                .is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0);
            if name.starts_with('.') || !is_command {
                continue;
            }
            let Described { name: own, description, args } = described(&path)?;
            let name = own.unwrap_or_else(|| name.split('.').next().unwrap_or_default().to_owned());
            found.retain(|other| other.name != name);
            found.push(Executable { name, path, description, arguments: args });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn listed(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

fn described(path: &Path) -> Result<Described, String> {
    let wrong =
        |error: &dyn std::fmt::Display| format!("the description of {} is wrong: {error}", path.display());
    let beside = path.with_extension("json");
    let text = if beside != path && beside.is_file() {
        fs::read_to_string(&beside).map_err(|error| wrong(&error))?
    } else {
        let mut head = Vec::new();
        let opened = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
        opened.map_err(|error| wrong(&error))?;
        match header(&String::from_utf8_lossy(&head)) {
            Some(text) => text,
            None => return Ok(Described::default()),
        }
    };
    serde_json::from_str(&text).map_err(|error| wrong(&error))
}

/// The JSON after `abx:` in a comment, over as many comment lines as it needs.
fn header(head: &str) -> Option<String> {
    let begins = |line: &&str| comment(line).is_some_and(|text| text.trim_start().starts_with("abx:"));
    let mut lines = head.lines().skip_while(|line| !begins(line));
    let mut text = comment(lines.next()?)?.trim_start().trim_start_matches("abx:").to_owned();
    for line in lines {
        let Some(more) = comment(line).filter(|_| serde_json::from_str::<Value>(&text).is_err()) else {
            break;
        };
        text.push('\n');
        text.push_str(more);
    }
    Some(text)
}

fn comment(line: &str) -> Option<&str> {
    ["#", "//", "--"].iter().find_map(|mark| line.trim_start().strip_prefix(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_found_with_what_they_say_and_the_last_template_stands() {
        let directory = std::env::temp_dir().join(format!("abx-executables-{}", std::process::id()));
        let write = |path: &str, text: &str, mode: u32| {
            let file = directory.join(path);
            fs::create_dir_all(file.parent().expect("a parent")).expect("folder");
            fs::write(&file, text).expect("write");
            fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("mode");
        };
        write("00-a/commands/tool.sh", "#!/bin/sh\n# abx: {\"description\": \"old\"}\n", 0o755);
        write("00-a/commands/notes", "#!/bin/sh\n", 0o644);
        write("00-a/commands/.hidden", "#!/bin/sh\n", 0o755);
        let header = "#!/bin/sh\n# abx: {\"description\": \"new\",\n#   \"args\": [{\"name\": \"n\"}]}\n";
        write("01-b/commands/tool", header, 0o755);
        write("01-b/commands/blob", "\u{7f}ELF", 0o755);
        write("01-b/commands/blob.json", "{\"name\": \"beside\"}", 0o644);
        let seen: Vec<_> = find(&directory)
            .expect("found")
            .into_iter()
            .map(|each| (each.name, each.description, each.arguments.len()))
            .collect();
        write("02-c/commands/bad", "# abx: {\n", 0o755);
        let error = find(&directory).expect_err("a bad one");
        fs::remove_dir_all(&directory).expect("clean");
        assert_eq!(seen, [("beside".into(), String::new(), 0), ("tool".into(), "new".into(), 1)]);
        assert!(error.contains("02-c/commands/bad is wrong"), "{error}");
    }
}
