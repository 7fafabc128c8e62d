//! The public corpus of docker's own parser: trees must print equal, bad files must be refused, the tables of
//! words and variables must hold. `ABX_TEST_DATA` says where test data lies.

#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

mod print;

use std::path::PathBuf;

use abx_dockerfile::{Lexer, parse, parse_tree};

/// The corpus, `None` with a printed reason where it is not there.
fn corpus() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let data = std::env::var_os("ABX_TEST_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let corpus = data.join("dockerfile-corpus");
    let found = corpus.is_dir();
    if !found {
        println!("skipped: there is no {}", corpus.display());
    }
    found.then_some(corpus)
}

fn cases(folder: &str) -> Vec<PathBuf> {
    let Some(corpus) = corpus() else { return Vec::new() };
    let entries = corpus.join(folder).read_dir().expect("the corpus can be read");
    let mut cases: Vec<_> = entries.map(|entry| entry.expect("the corpus can be read").path()).collect();
    cases.sort();
    assert!(!cases.is_empty(), "{folder} is empty");
    cases
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn good_files_print_as_docker_prints_them() {
    for case in cases("good") {
        let tree = parse_tree(&read(case.join("Dockerfile")), "Dockerfile")
            .unwrap_or_else(|fault| panic!("{}: {fault}", case.display()));
        assert_eq!(print::tree(&tree), read(case.join("result")).trim_end(), "{}", case.display());
    }
}

#[test]
fn bad_files_are_refused() {
    for case in cases("bad") {
        let text = read(case.join("Dockerfile"));
        assert!(parse_tree(&text, "Dockerfile").is_err(), "{}", case.display());
        assert!(parse(&text, "Dockerfile").is_err(), "{}", case.display());
    }
}

/// The lines of a table: two cells between `|`s, comments left out.
fn rows(table: &str) -> Vec<(String, String)> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let cells = lines.filter_map(|line| line.rsplit_once('|'));
    cells.map(|(word, expected)| (word.trim_start().to_owned(), expected.trim().to_owned())).collect()
}

fn lexer() -> Lexer {
    Lexer { escape: '\\', keep_quotes: false }
}

#[test]
fn variables_expand_as_in_docker() {
    let Some(corpus) = corpus() else { return };
    let known = [("PWD", "/home"), ("SHELL", "bash"), ("KOREAN", "한국어"), ("NULL", "")];
    let lookup = |name: &str| known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let mut count = 0;
    for (cells, expected) in rows(&read(corpus.join("envVarTest"))) {
        let Some((platform, word)) = cells.split_once('|') else { panic!("no row: {cells}") };
        if platform.trim() == "W" {
            continue;
        }
        let found = lexer().word(word.trim(), &lookup);
        match expected.as_str() {
            "error" => assert!(found.is_err(), "{word}: {found:?}"),
            expected => assert_eq!(found.map(|found| found.text), Ok(expected.to_owned()), "{word}"),
        }
        count += 1;
    }
    assert!(count > 200, "{count} rows");
}

#[test]
fn words_split_as_in_docker() {
    let Some(corpus) = corpus() else { return };
    let mut known: Vec<(String, String)> = Vec::new();
    let mut count = 0;
    for line in read(corpus.join("wordsTest")).lines().filter(|line| !line.starts_with('#')) {
        if let Some((name, value)) = line.strip_prefix("ENV ").and_then(|pair| pair.split_once('=')) {
            known.push((name.to_owned(), value.to_owned()));
            continue;
        }
        let Some((text, expected)) = line.split_once('|') else { continue };
        let lookup = |name: &str| known.iter().find(|(known, _)| known == name).map(|(_, value)| &**value);
        let found = lexer().words(text.trim(), &lookup);
        match expected.trim_start() {
            "error" => assert!(found.is_err(), "{text}: {found:?}"),
            expected => assert_eq!(found.map(|words| words.join(",")), Ok(expected.to_owned()), "{text}"),
        }
        count += 1;
    }
    assert!(count > 20, "{count} rows");
}
