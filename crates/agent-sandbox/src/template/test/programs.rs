//! `programs`: found by PATH, in a login shell too, in these versions.

use abx_client::Client;
use abx_spec::At;
use abx_spec::suite::ProgramWish;

use super::command::script;
use super::finding::{Finding, Unseen};

/// A line for each name: the name, where it is, where it is for a login shell, what it says of its version. Programs
/// differ in how they are asked for that.
const LOOK: &str = r#"
for name; do
    there=$(command -v -- "$name")
    login=$(sh -lc 'command -v -- "$1"' look "$name")
    said=
    if [ -n "$there" ]; then
        for ask in --version version -v -V; do
            said=$("$name" "$ask" 2>&1 < /dev/null) && case $said in *[0-9]*) break;; esac
        done
    fi
    printf '%s\t%s\t%s\t%s\n' "$name" "$there" "$login" "$(printf %s "$said" | tr '\n\t' '  ' | cut -c 1-400)"
done
"#;

pub(super) async fn check(client: &Client, programs: &[At<ProgramWish>]) -> Result<Finding, Unseen> {
    let names: Vec<&str> = programs.iter().map(|program| program.value.name.as_str()).collect();
    let ran = script(client, LOOK, &names).await?;
    let mut finding = Finding::default();
    let mut lines = ran.stdout.lines();
    for At { value: ProgramWish { name, range }, place } in programs {
        let mut fields = lines.next().unwrap_or_default().split('\t').skip(1);
        let (there, login, said) = (fields.next(), fields.next(), fields.next().unwrap_or_default());
        let is_there = |path: Option<&str>| path.is_some_and(|path| !path.is_empty());
        if !is_there(there) {
            finding.miss(place, name, "a program on PATH".to_owned(), "none".to_owned());
            continue;
        }
        if !is_there(login) {
            finding.miss(place, name, "a program on PATH of a login shell".to_owned(), "none".to_owned());
        }
        let Some(range) = range else { continue };
        match version_in(said) {
            Some(version) if range.contains(version) => {}
            Some(version) => {
                let what = format!("version of {name}");
                finding.miss(place, what, range.to_string(), version.to_owned());
            }
            None => finding.miss(place, name, format!("version {range}"), format!("it says {said:?}")),
        }
    }
    Ok(finding)
}

/// The first thing in a text that looks like a version: numbers with dots, else a number.
fn version_in(text: &str) -> Option<&str> {
    let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
    let words = || {
        text.split(|letter: char| !is_part(letter))
            .map(|word| word.trim_matches('.'))
            .filter(|word| !word.is_empty())
    };
    words().find(|word| word.contains('.')).or_else(|| words().next())
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn what_programs_say_of_themselves() {
        let rows = [
            ("go version go1.22.10 linux/amd64", Some("1.22.10")),
            ("v20.18.0", Some("20.18.0")),
            ("GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)", Some("5.2.15")),
            ("Poetry (version 2.5.1)", Some("2.5.1")),
            ("jq-1.6", Some("1.6")),
            ("less 590 (GNU regular expressions)", Some("590")),
            ("Version: 7. Done.", Some("7")),
            ("usage: thing", None),
        ];
        for (text, expected) in rows {
            assert_eq!(version_in(text), expected, "{text}");
        }
    }
}
