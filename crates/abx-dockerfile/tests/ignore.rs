//! Ignore files: which paths are left out, and which folders need not be entered.

mod random;

use abx_dockerfile::{Ignore, Verdict};
use random::Random;

fn ignore(text: &str) -> Ignore {
    Ignore::parse(text, ".dockerignore").unwrap_or_else(|fault| panic!("{text:?}: {fault}"))
}

#[test]
fn the_last_pattern_that_matches_decides() {
    let rows: [(&str, &[&str], &[&str]); 22] = [
        ("", &[], &["a", "a/b"]),
        ("a", &["a", "a/b", "a/b/c"], &["b", "b/a", "ab"]),
        ("/a/", &["a", "a/b"], &["b/a"]),
        ("./a/../b", &["b"], &["a"]),
        ("*", &["a", "a/b"], &[]),
        ("*/b", &["a/b", "a/b/c"], &["b", "a/a/b"]),
        ("**/b", &["b", "a/b", "a/a/b/c"], &["ab"]),
        ("**", &["a", "a/b"], &[]),
        ("*\n!**/*.py", &["a", "a/b", "a/b/c.txt"], &["x.py", "a/x.py", "a/b/c.py"]),
        ("*\n!a", &["b", "b/a"], &["a", "a/b", "a/b/c"]),
        ("a\n!a/b", &["a", "a/c"], &["a/b", "a/b/c"]),
        ("!a/b\na", &["a", "a/b"], &["b"]),
        ("*.md\n!README*.md\nREADME-secret.md", &["x.md", "README-secret.md"], &["README.md", "README-a.md"]),
        ("*.md\nREADME-secret.md\n!README*.md", &["x.md"], &["README.md", "README-secret.md"]),
        ("# a\n#b\n\n  \n c \n", &["c"], &["a", "#b", "# a", "b"]),
        (" #a", &["#a"], &["a"]),
        ("! a \nb\n! b/c ", &["b", "b/d"], &["a", "b/c"]),
        ("a\\*b", &["a*b"], &["axb"]),
        ("a b", &["a b"], &["a"]),
        ("\u{feff}a\r\nb\r\n", &["a", "b"], &["c"]),
        ("a/**\n!a/b/**", &["a/x", "a/b"], &["a", "a/b/x", "a/b/x/y"]),
        ("../a\n/\n.", &[], &["a"]),
    ];
    for (text, ignored, kept) in rows {
        let ignore = ignore(text);
        for path in ignored {
            assert!(ignore.excludes(path), "{text:?} leaves out {path}");
        }
        for path in kept {
            assert!(!ignore.excludes(path), "{text:?} keeps {path}");
        }
    }
}

#[test]
fn malformed_patterns_are_refused_with_their_line() {
    let invalid = Ignore::parse("a\n  [b\n!\nc\\\n! \n", "web.dockerignore").unwrap_err();
    let shown: Vec<_> = invalid
        .diagnostics()
        .map(|fault| {
            format!(
                "{}:{}:{}+{} {fault}",
                fault.snippet.file, fault.snippet.line, fault.snippet.column, fault.snippet.length
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "web.dockerignore:2:3+2 the pattern `[b` is malformed: a `[` is not closed",
            "web.dockerignore:3:1+1 the pattern `!` is malformed: nothing follows the `!`",
            "web.dockerignore:4:1+2 the pattern `c\\` is malformed: nothing follows the `\\`",
            "web.dockerignore:5:1+1 the pattern `!` is malformed: nothing follows the `!`",
        ]
    );
    assert!(Ignore::of_patterns(["a", "["]).is_err());
    assert!(Ignore::of_patterns(["*.md", "!a.md"]).unwrap().excludes("b.md"));
}

#[test]
fn folders_are_entered_only_where_something_may_be_kept() {
    let rows: [(&str, &[&str], &[&str]); 6] = [
        ("a", &["b"], &["a"]),
        ("*\n!src", &[], &["a", "a/b"]),
        ("*\n!a/b/c", &["a", "a/b"], &["b", "a/c"]),
        ("*\n!**/*.py", &["a", "a/b"], &[]),
        ("*\n!a/b\n**/b", &["a"], &["b"]),
        ("!**/*.py\n*", &[], &["a"]),
    ];
    for (text, entered, skipped) in rows {
        let ignore = ignore(text);
        let enters = |folder: &str| {
            let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
            let verdict = ends.fold(Verdict::default(), |above, end| ignore.below(&above, &folder[..end]));
            ignore.may_keep_below(&verdict, folder)
        };
        for folder in entered {
            assert!(enters(folder), "{text:?} enters {folder}");
        }
        for folder in skipped {
            assert!(!enters(folder), "{text:?} skips {folder}");
        }
    }
}

/// A walk that skips folders finds what asking for each path finds.
#[test]
fn nothing_that_is_kept_lies_in_a_skipped_folder() {
    let names = ["a", "b", "a.py", "ab"];
    let words = ["a", "b", "*", "**", "*.py", "?", "[ab]", "a*", ".."];
    let mut paths: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    for depth in 0..2 {
        let folders: Vec<String> =
            paths.iter().filter(|path| path.matches('/').count() == depth).cloned().collect();
        paths.extend(
            folders.iter().flat_map(|folder| names.iter().map(move |name| format!("{folder}/{name}"))),
        );
    }
    let mut random = Random(11);
    for _ in 0..3_000 {
        let mut text = String::new();
        for _ in 0..=random.below(4) {
            let parts: Vec<_> = (0..=random.below(3)).map(|_| words[random.below(words.len())]).collect();
            text += &format!("{}{}\n", if random.below(3) == 0 { "!" } else { "" }, parts.join("/"));
        }
        let ignore = ignore(&text);
        let mut kept = Vec::new();
        walk(&ignore, &Verdict::default(), "", &paths, &mut kept);
        kept.sort();
        let mut expected: Vec<_> = paths.iter().filter(|path| !ignore.excludes(path)).cloned().collect();
        expected.sort();
        assert_eq!(kept, expected, "for {text:?}");
    }
}

fn walk(ignore: &Ignore, parent: &Verdict, folder: &str, paths: &[String], kept: &mut Vec<String>) {
    let below = |path: &&String| path.rsplit_once('/').map_or("", |(folder, _)| folder) == folder;
    for path in paths.iter().filter(below) {
        let verdict = ignore.below(parent, path);
        if !verdict.is_ignored {
            kept.push(path.clone());
        }
        if ignore.may_keep_below(&verdict, path) {
            walk(ignore, &verdict, path, paths, kept);
        }
    }
}
