//! A token for GitHub that is asked for on a terminal.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use abx_test::Terminal;
use abx_test::github::{LoopbackGithub, Trick};
use abx_test::index::LoopbackIndex;

use crate::support::{Abx, Ran};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: hello}\nbase: {image: \"debian:bookworm-slim\"}\n";
const TOKEN: &str = "ghp_RightAndVeryLongToken";
const QUESTION: &str = "GitHub token (Enter for none): ";
const RESOLVE: &[&str] = &["template", "resolve", "o/r//t"];

/// A home, and a GitHub whose one repository is shown to the token only.
fn private() -> (Abx, LoopbackGithub) {
    let github = LoopbackGithub::start();
    github.put("o/r", "HEAD", COMMIT, &[("t/template.yaml", TEMPLATE)]);
    github.require("o/r", TOKEN);
    (Abx::new(), github)
}

fn start(abx: &Abx, github: &LoopbackGithub, words: &[&str], variables: &[(&str, &str)]) -> Terminal {
    let mut command = abx.command(words);
    command.env("ABX_GITHUB_API_URL", github.url()).env("TERM", "vt220").envs(variables.iter().copied());
    Terminal::start(command, 40, 200)
}

/// Waits for the question and types an answer; returns what was said before.
fn answer(terminal: &mut Terminal, keys: &str) -> String {
    let before = terminal.expect(QUESTION);
    terminal.send(keys);
    before
}

fn secrets(abx: &Abx) -> PathBuf {
    abx.home().join(".abx/.env")
}

#[test]
fn a_token_is_asked_for_behind_stars_tried_and_stored() {
    let (abx, github) = private();
    let mut terminal = start(&abx, &github, RESOLVE, &[]);
    let mut seen = answer(&mut terminal, &format!("{TOKEN}\r"));
    assert!(seen.contains("shows no `o/r` without a token"), "{seen}");
    assert!(seen.contains(&format!("Make one at {}/settings/tokens", github.url())), "{seen}");
    seen += &terminal.expect(&"*".repeat(TOKEN.len()));
    seen += &terminal.expect("stored the token in");
    seen += &terminal.expect(".env");
    assert_eq!(terminal.wait(), Some(0), "{seen}");
    assert!(seen.contains(&format!("o/r//t@{COMMIT}")), "{seen}");
    assert!(!seen.contains(TOKEN), "{seen}");
    assert!(!terminal.is_raw());
    assert_eq!(std::fs::read_to_string(secrets(&abx)).expect("stored"), format!("github_token={TOKEN}\n"));
    let mode = |path: PathBuf| path.metadata().expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(secrets(&abx)), mode(abx.home().join(".abx"))), (0o600, 0o700));
    // From now on nobody is asked.
    let mut again = abx.command(&["template", "resolve", "o/r//t", "--no-cache"]);
    let ran = Ran::from(again.env("ABX_GITHUB_API_URL", github.url()).output().expect("abx runs"));
    assert_eq!(ran.status, Some(0), "{ran:#?}");
}

#[test]
fn the_repository_of_a_parent_may_be_the_private_one() {
    let (abx, github) = private();
    let child = "version: \"1\"\nmetadata: {name: child}\nbase: {from: \"o/r//t\"}\n";
    github.put("p/public", "HEAD", COMMIT, &[("template.yaml", child)]);
    let mut terminal = start(&abx, &github, &["template", "validate", "p/public"], &[]);
    let said = answer(&mut terminal, &format!("{TOKEN}\r"));
    assert!(said.contains("shows no `o/r` without a token"), "{said}");
    terminal.expect("child 0.0.0 is valid");
    terminal.expect("stored the token in");
    assert_eq!(terminal.wait(), Some(0));
}

#[test]
fn a_wrong_token_is_tried_once_and_not_kept() {
    let (abx, github) = private();
    let mut terminal = start(&abx, &github, RESOLVE, &[]);
    answer(&mut terminal, "ghp_wrong\r");
    let between = terminal.expect("error[E1010]");
    assert!(!between.contains(QUESTION), "{between}");
    assert_eq!(terminal.wait(), Some(3));
    assert!(!secrets(&abx).exists());
}

#[test]
fn who_has_none_gets_the_error() {
    for keys in ["\r", "\u{3}", "\u{4}"] {
        let (abx, github) = private();
        let mut terminal = start(&abx, &github, RESOLVE, &[]);
        answer(&mut terminal, keys);
        terminal.expect("error[E2001]");
        assert_eq!(terminal.wait(), Some(4), "{keys:?}");
        assert!(!terminal.is_raw());
        assert!(!secrets(&abx).exists());
    }
}

#[test]
fn what_is_no_token_is_asked_for_again() {
    let (abx, github) = private();
    let mut terminal = start(&abx, &github, RESOLVE, &[]);
    answer(&mut terminal, "not one\r");
    let said = answer(&mut terminal, &format!("ghx\u{15}{TOKEN}\r"));
    assert!(said.contains("does not look like a token") && !said.contains("not one"), "{said}");
    terminal.expect("stored the token");
    assert_eq!(terminal.wait(), Some(0));
}

#[test]
fn a_used_up_limit_and_a_stored_token_that_is_refused_are_reasons_too() {
    let (abx, github) = private();
    let limit = Trick::Refuse(403, vec![("x-ratelimit-remaining", "0".into())], "");
    github.play("/repos/", limit, 1);
    let mut terminal = start(&abx, &github, RESOLVE, &[]);
    let said = answer(&mut terminal, &format!("{TOKEN}\r"));
    assert!(said.contains("60 requests an hour without a token"), "{said}");
    terminal.expect("stored the token");
    assert_eq!(terminal.wait(), Some(0));

    std::fs::write(secrets(&abx), "# mine\nother=1\ngithub_token=ghp_expired\n").expect("write");
    let mut terminal = start(&abx, &github, &[RESOLVE, &["--no-cache"]].concat(), &[]);
    let said = answer(&mut terminal, &format!("{TOKEN}\r"));
    assert!(said.contains("refuses the stored token"), "{said}");
    terminal.expect("stored the token");
    assert_eq!(terminal.wait(), Some(0));
    let kept = std::fs::read_to_string(secrets(&abx)).expect("stored");
    assert_eq!(kept, format!("# mine\nother=1\ngithub_token={TOKEN}\n"));
}

#[test]
fn a_search_may_use_up_the_limit_too() {
    let (abx, index) = (Abx::new(), LoopbackIndex::start("templates: [{name: web-scraper, repo: o/r}]\n"));
    index.play(Trick::Refuse(403, vec![("x-ratelimit-remaining", "0".into())], ""), 1);
    let mut command = abx.command(&["template", "search", "web"]);
    // Only an index of the API's own host is asked for with a token.
    let api = index.url().replace("/index.yaml", "");
    command.env("ABX_TEMPLATE_INDEX_URL", index.url()).env("ABX_GITHUB_API_URL", api).env("TERM", "vt220");
    let mut terminal = Terminal::start(command, 40, 200);
    let said = answer(&mut terminal, &format!("{TOKEN}\r"));
    assert!(said.contains("60 requests an hour without a token"), "{said}");
    terminal.expect("web-scraper");
    terminal.expect("stored the token in");
    assert_eq!(terminal.wait(), Some(0));
}

#[test]
fn nobody_is_asked_who_does_not_sit_there_or_has_named_a_token() {
    let (abx, github) = private();
    let unattended = |words: &[&str], variables: &[(&str, &str)], code: &str| {
        let mut terminal = start(&abx, &github, words, variables);
        let said = terminal.expect(code);
        assert!(!said.contains(QUESTION), "{words:?} {variables:?}: {said}");
        terminal.wait()
    };
    assert_eq!(unattended(RESOLVE, &[("CI", "true")], "E2001"), Some(4));
    assert_eq!(unattended(&[RESOLVE, &["-q"]].concat(), &[], "E2001"), Some(4));
    assert_eq!(unattended(&[RESOLVE, &["--json"]].concat(), &[], "E2001"), Some(4));
    assert_eq!(unattended(&[RESOLVE, &["--token", "ghp_mine"]].concat(), &[], "E1010"), Some(3));
    assert_eq!(unattended(RESOLVE, &[("GITHUB_TOKEN", "ghp_mine")], "E1010"), Some(3));
    let mut piped = abx.command(RESOLVE);
    let ran = Ran::from(piped.env("ABX_GITHUB_API_URL", github.url()).output().expect("abx runs"));
    assert_eq!(ran.status, Some(4), "{ran:#?}");
    assert!(!ran.stderr.contains("token (Enter"), "{ran:#?}");
}
