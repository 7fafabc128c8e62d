//! `RUN`.

use crate::instruction::{Command, Network, Run, Script};
use crate::near::nearest;
use crate::problem::Problem;
use crate::read::action::command;
use crate::read::flags::Flags;
use crate::read::{Reader, mount};
use crate::syntax::{Body, Heredoc, Node, Word, without_tabs};

pub(crate) fn run(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Run> {
    let mut flags = Flags::read(node, &["mount*", "network", "security", "device*"], reader);
    let mounts = flags.texts("mount", reader);
    let mounts = mounts.iter().filter_map(|flag| mount::mount(flag, reader)).collect();
    let network = flags.text("network", reader).and_then(|word| network(&word, reader)).unwrap_or_default();
    if let Some(security) = flags.text("security", reader) {
        self::security(&security, reader);
    }
    for device in flags.texts("device", reader) {
        reader.fault(Problem::Unsupported { what: "--device".into(), hint: "" }, device.span);
    }
    let script = match (&node.body, &*node.heredocs) {
        (Body::Text(text), heredocs @ [first, ..]) => script(text, first, heredocs),
        (body, _) => Script::Command(command(body, reader).or_else(|| {
            reader.needs(node, "a command");
            None
        })?),
    };
    Some(Run { script, mounts, network })
}

fn network(word: &Word, reader: &mut Reader<'_, '_>) -> Option<Network> {
    match word.text.as_str() {
        "default" => Some(Network::Default),
        "none" => Some(Network::None),
        "host" => {
            let hint = "a step never sees the host's network; `default` reaches the outside";
            reader.fault(Problem::Unsupported { what: "--network=host".into(), hint }, word.span);
            None
        }
        text => {
            let hint = match nearest(text, ["default", "none"]) {
                Some("none") => "did you mean `none`?",
                _ => "it is `default` or `none`",
            };
            let text = text.to_owned();
            reader.fault(Problem::Malformed { what: "network of a step", text, hint }, word.span);
            None
        }
    }
}

fn security(word: &Word, reader: &mut Reader<'_, '_>) {
    match word.text.as_str() {
        "sandbox" => {}
        "insecure" => {
            let hint = "every step runs isolated";
            reader.fault(Problem::Unsupported { what: "--security=insecure".into(), hint }, word.span);
        }
        text => {
            let (text, hint) = (text.to_owned(), "it is `sandbox`");
            reader.fault(Problem::Malformed { what: "security mode", text, hint }, word.span);
        }
    }
}

/// A document alone is the script; documents within a line are the shell's to read, so they are put back.
fn script(text: &Word, first: &Heredoc, heredocs: &[Heredoc]) -> Script {
    if text.span == first.span {
        let content = match first.chomp {
            true => without_tabs(&first.content),
            false => first.content.clone(),
        };
        return match content.starts_with("#!") {
            true => Script::File { name: first.name.clone(), content },
            false => Script::Command(Command::Shell(content)),
        };
    }
    Script::Command(Command::Shell(with_documents(&text.text, heredocs)))
}

/// A line with its here-documents below it, as it is written.
pub(crate) fn with_documents(line: &str, heredocs: &[Heredoc]) -> String {
    let mut text = line.to_owned();
    for heredoc in heredocs {
        text.push('\n');
        text.push_str(&heredoc.content);
        text.push_str(&heredoc.name);
    }
    text
}
