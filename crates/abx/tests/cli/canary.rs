//! A token for GitHub is used and never seen: in no output, no file and no argument, wherever it comes from.

use std::process::Command;
use std::time::SystemTime;

use abx_test::canary::files_with;
use abx_test::github::{LoopbackGithub, Trick};

use crate::support::{Abx, Ran};

const CANARY: &str = "ghp_CanaryOfAllTokens0123456789";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: hello}\nbase: {from: base}\n";

/// The ways a token comes in.
#[derive(Clone, Copy, Debug)]
enum Way {
    Option,
    Variable,
    WorkingFolder,
    Stored,
}

const WAYS: [Way; 4] = [Way::Option, Way::Variable, Way::WorkingFolder, Way::Stored];

impl Way {
    fn prepare(self, abx: &Abx) {
        match self {
            Self::Option | Self::Variable => {}
            Self::WorkingFolder => {
                std::fs::write(abx.home().join(".env"), format!("GITHUB_TOKEN={CANARY}\n")).expect("write");
            }
            Self::Stored => {
                let ran = abx.run(&["config", "set", "github_token", CANARY]);
                assert_eq!(ran.status, Some(0), "{ran:#?}");
                assert!(!format!("{ran:?}").contains(CANARY));
            }
        }
    }

    fn command(self, abx: &Abx, words: &[&str]) -> Command {
        let mut words = words.to_vec();
        if matches!(self, Self::Option) && takes_token(&words) {
            words.extend(["--token", CANARY]);
        }
        let mut command = abx.command(&words);
        if matches!(self, Self::Variable) {
            command.env("GITHUB_TOKEN", CANARY);
        }
        command
    }
}

fn takes_token(words: &[&str]) -> bool {
    matches!(words, ["template", "resolve" | "info" | "validate" | "explain" | "lock", ..])
}

#[test]
fn a_token_is_seen_nowhere() {
    for way in WAYS {
        let (abx, github, since) = (Abx::new(), LoopbackGithub::start(), SystemTime::UNIX_EPOCH);
        github.put("o/r", "HEAD", COMMIT, &[("t/template.yaml", TEMPLATE), ("t/files/a", "a")]);
        github.put("o/r", "v1.0.0", COMMIT, &[("t/template.yaml", TEMPLATE)]);
        github.tag("o/r", "v1.0.0", COMMIT, false);
        github.require("o/r", CANARY);
        way.prepare(&abx);
        let run = |words: &[&str]| {
            let mut command = way.command(&abx, words);
            command.env("ABX_GITHUB_API_URL", github.url()).env("RUST_BACKTRACE", "1");
            let ran = Ran::from(command.output().expect("abx runs"));
            assert!(!format!("{ran:?}").contains(CANARY), "{way:?} {words:?}: {ran:#?}");
            ran
        };
        for words in [
            &["template", "resolve", "o/r//t"][..],
            &["template", "resolve", "o/r//t@^1", "-vvv"],
            &["template", "info", "o/r//t", "--json"],
            &["template", "validate", "o/r//t"],
            &["template", "explain", "o/r//t", "--no-cache"],
        ] {
            let ran = run(words);
            assert_eq!(ran.status, Some(0), "{way:?} {words:?}: {ran:#?}");
        }
        for words in [
            &["template", "lock", "o/r//t"][..],
            &["template", "cache", "list", "--json"],
            &["template", "list", "--json"],
            &["config", "list", "--json"],
            &["config", "get", "github_token"],
            &["doctor", "--json"],
        ] {
            run(words);
        }
        for status in [401, 403, 404, 429, 500] {
            github.play("/repos/", Trick::Refuse(status, vec![], "no"), 1);
            for output in ["-vv", "--json"] {
                run(&["template", "resolve", "o/r//t", "--no-cache", output]);
            }
        }
        let asked = github.requests();
        let bearer = format!("Bearer {CANARY}");
        assert!(asked.iter().any(|request| request.header("authorization") == Some(&bearer)), "{way:?}");
        assert!(asked.iter().all(|request| !request.path.contains(CANARY)), "{way:?}");
        let mut kept = files_with(CANARY, abx.home(), since);
        kept.retain(|file| !file.ends_with(".env"));
        assert_eq!(kept, [""; 0].map(std::path::PathBuf::from), "{way:?}");
    }
}

#[test]
fn a_password_in_an_address_is_not_repeated() {
    let abx = Abx::new();
    let address = format!("https://me:{CANARY}@github.com/o/r");
    let from = format!("version: \"1\"\nmetadata: {{name: x}}\nbase: {{from: \"{address}\"}}\n");
    let image =
        format!("version: \"1\"\nmetadata: {{name: x}}\nbase: {{image: \"docker://me:{CANARY}@h.io/i\"}}\n");
    for (folder, text) in [("from", from), ("image", image)] {
        std::fs::create_dir(abx.home().join(folder)).expect("create");
        std::fs::write(abx.home().join(folder).join("template.yaml"), text).expect("write");
    }
    for words in [
        &["template", "resolve", &address] as &[&str],
        &["template", "resolve", "./from"],
        &["template", "validate", "./image"],
        &["template", "search", "x", "--index-url", &address],
        &["config", "set", "github_api_url", &address],
        &["config", "set", "push_to", &address],
    ] {
        for json in [false, true] {
            let words: Vec<&str> = words.iter().copied().chain(json.then_some("--json")).collect();
            let ran = abx.run(&words);
            assert_eq!(ran.status, Some(2), "{words:?}: {ran:#?}");
            assert!(!format!("{ran:?}").contains(CANARY), "{words:?}: {ran:#?}");
        }
    }
    let mut variable = abx.command(&["template", "resolve", "o/r"]);
    let ran = Ran::from(variable.env("ABX_GITHUB_API_URL", &address).output().expect("abx runs"));
    assert!(ran.status == Some(2) && !ran.stderr.contains(CANARY), "{ran:#?}");
}
