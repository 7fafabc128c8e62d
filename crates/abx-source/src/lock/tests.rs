//! The form of the file, and what differs between two states.

mod chance;

use abx_core::Fault;

use super::*;
use crate::BaseImage;

const COMMIT: &str = "1111111111111111111111111111111111111111";

fn digest(letter: char) -> String {
    format!("sha256:{}", letter.to_string().repeat(64))
}

fn template(reference: &str, kind: LockedKind) -> LockedTemplate {
    LockedTemplate {
        reference: reference.to_owned(),
        kind,
        name: "name".to_owned(),
        tag: None,
        source: None,
        commit: None,
        digest: Some(digest('a')),
    }
}

/// `.`, a repository's template, a directory of that, a built-in, an image of a registry.
fn lock() -> Lock {
    Lock {
        templates: vec![
            LockedTemplate { digest: None, ..template(HERE, LockedKind::Directory) },
            LockedTemplate {
                tag: Some("v1.2.0".to_owned()),
                commit: Some(COMMIT.to_owned()),
                ..template("o/r//t@^1", LockedKind::Github)
            },
            template("../base", LockedKind::Directory),
            LockedTemplate { tag: Some("1.0.0".to_owned()), ..template("base", LockedKind::BuiltIn) },
        ],
        base: Some(LockedBase::Registry { image: "debian:12".to_owned(), digest: digest('b') }),
        images: Vec::new(),
    }
}

fn archive(packages: &[&str]) -> LockedArchive {
    LockedArchive {
        image: "debian:bookworm-slim".to_owned(),
        release: "bookworm-slim".to_owned(),
        snapshot: "Sat, 10 Jan 2026 09:58:09 UTC".to_owned(),
        platform: "linux/amd64".to_owned(),
        packages: packages.iter().map(|&package| package.to_owned()).collect(),
    }
}

fn image(name: &str) -> BaseImage {
    BaseImage::Image { name: name.to_owned(), place: None }
}

#[test]
fn the_file_reads_as_people_expect() {
    let text = lock().to_string();
    let expected = format!(
        "\
# What this template and everything it inherits from came to.
# Written by `abx template lock`; commit it together with the template.
version = 1

[[template]]
reference = \".\"
kind = \"directory\"
name = \"name\"
parent = \"o/r//t@^1\"

[[template]]
reference = \"o/r//t@^1\"
kind = \"github\"
name = \"name\"
tag = \"v1.2.0\"
commit = \"{COMMIT}\"
digest = \"{a}\"
parent = \"../base\"

[[template]]
reference = \"../base\"
kind = \"directory\"
name = \"name\"
digest = \"{a}\"
parent = \"base\"

[[template]]
reference = \"base\"
kind = \"built-in\"
name = \"name\"
tag = \"1.0.0\"
digest = \"{a}\"

[base]
image = \"debian:12\"
digest = \"{b}\"
",
        a = digest('a'),
        b = digest('b')
    );
    assert_eq!(text, expected);
}

#[test]
fn an_archive_has_a_package_a_line() {
    let mut lock = lock();
    lock.base = Some(LockedBase::Archive(archive(&["apt=2.6.1", "bash=5.2.15-2+b7"])));
    let text = lock.to_string();
    assert!(
        text.ends_with(
            "
[base]
image = \"debian:bookworm-slim\"
release = \"bookworm-slim\"
snapshot = \"Sat, 10 Jan 2026 09:58:09 UTC\"
platform = \"linux/amd64\"
packages = [
  \"apt=2.6.1\",
  \"bash=5.2.15-2+b7\",
]
"
        ),
        "{text}"
    );
    assert_eq!(Lock::parse(&text, "f").expect("it parses"), lock);
}

#[test]
fn what_nobody_would_write_is_refused_with_its_place() {
    let good = lock().to_string();
    for (from, to, place, message) in [
        ("version = 1", "version = 0", (3, 11), "there is no version 0"),
        ("version = 1", "version = \"1\"", (3, 11), "invalid type"),
        ("version = 1\n", "", (1, 1), "missing field `version`"),
        (
            "kind = \"github\"",
            "kind = \"gitlab\"",
            (13, 8),
            "there is no kind `gitlab`, but directory, github",
        ),
        ("kind = \"github\"", "kin = \"github\"", (13, 1), "unknown field `kin`"),
        ("kind = \"github\"\n", "", (11, 1), "missing field `kind`"),
        (COMMIT, "HEAD", (16, 10), "a commit has forty digits"),
        ("sha256:aaaa", "sha256:aaa", (17, 10), "a digest is `sha256:` and 64 digits"),
        ("parent = \"../base\"", "parent = \"../other\"", (21, 13), "`../base` is not the parent"),
        ("reference = \"../base\"", "reference = \"..\\t\"", (21, 13), "`..\\t` is not the parent"),
        ("tag = \"1.0.0\"\n", "", (27, 1), "a built-in template has a `tag`"),
        ("tag = \"1.0.0\"", "tag = \"1\\n0\"", (31, 7), "it has a control character"),
        ("tag = \"1.0.0\"", "tag = \"\"", (31, 7), "it is empty"),
        ("image = \"debian:12\"", "image = \"debian:12\"\nrelease = \"x\"", (36, 11), "and nothing else"),
        ("[base]", "[base]\nimage = \"a\"", (36, 1), "duplicate key"),
        ("[base]", "[bass]", (34, 2), "unknown field `bass`"),
        ("[base]", "[base", (34, 6), ""),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let error = Lock::parse(&text, "template.lock").expect_err(to);
        let snippet = error.snippets().into_iter().next().unwrap_or_else(|| panic!("{error}"));
        assert_eq!(error.code().as_str(), "E2004");
        assert!(error.to_string().contains(message), "{from} → {to}: {error}");
        assert_eq!((snippet.line, snippet.column), place, "{from} → {to}: {error}");
    }
    for text in
        ["", "version = 1\n", "version = 1\n[base]\nimage = \"a\"\n", "\u{0}", "version = 1\nversion = 1"]
    {
        let error = Lock::parse(text, "template.lock").expect_err(text);
        assert_eq!((error.code().as_str(), error.snippets().len()), ("E2004", 1), "{text:?}: {error}");
    }
}

#[test]
fn a_newer_version_is_refused_by_its_number_whatever_else_it_has() {
    let error = Lock::parse("version = 2\n[[sandbox]]\nx = 1\n", "template.lock").expect_err("newer");
    assert_eq!(error.to_string(), "template.lock has version 2, and this program reads version 1");
}

#[test]
fn drift_names_what_differs_and_stops_at_another_parent() {
    let change = |index: usize, change: &dyn Fn(&mut LockedTemplate)| {
        let mut templates = lock().templates;
        change(&mut templates[index]);
        templates
    };
    for (templates, base, expected) in [
        (lock().templates, "debian:12", ""),
        (lock().templates, "debian:13", "the base image: locked `debian:12`, found `debian:13`"),
        (
            change(2, &|template| template.digest = Some(digest('c'))),
            "debian:12",
            "`../base`: locked sha256:aaaaaaaaaaaa, found sha256:cccccccccccc",
        ),
        (
            change(3, &|template| {
                template.digest = Some(digest('c'));
                template.tag = Some("1.1.0".to_owned());
            }),
            "debian:12",
            "`base`: locked 1.0.0 (sha256:aaaaaaaaaaaa), found 1.1.0 (sha256:cccccccccccc)",
        ),
        (
            change(1, &|template| template.commit = Some("2".repeat(40))),
            "debian:12",
            "`o/r//t@^1`: locked v1.2.0 (111111111111), found v1.2.0 (222222222222)",
        ),
        (
            change(2, &|template| template.reference = "../new".to_owned()),
            "debian:13",
            "the parent of `o/r//t@^1`: locked `../base`, found `../new`",
        ),
        (
            lock().templates[..3].to_vec(),
            "debian:12",
            "the parent of `../base`: locked `base`, found no parent",
        ),
        // The same content from elsewhere: a built-in that is a release of the official repository by now.
        (change(3, &|template| template.kind = LockedKind::Github), "debian:12", ""),
    ] {
        let drift = lock().drift(&templates, &image(base), "template.lock").expect("no lie");
        let drift: Vec<String> = drift.iter().map(ToString::to_string).collect();
        assert_eq!(drift.join("; "), expected);
    }
}

#[test]
fn a_base_is_held_whether_or_not_its_name_holds_the_digest() {
    let base = LockedBase::registry(&format!("debian:12@{}", digest('b')), &digest('b'));
    assert_eq!(Some(&base), lock().base.as_ref());
    for (name, expected) in [
        ("debian:12".to_owned(), true),
        (format!("debian:12@{}", digest('b')), true),
        (format!("debian:12@{}", digest('c')), false),
        ("debian".to_owned(), false),
    ] {
        assert_eq!(base.is_of(&name), expected, "{name}");
    }
}

#[test]
fn another_content_at_the_same_commit_is_a_lie() {
    let mut templates = lock().templates;
    templates[1].digest = Some(digest('c'));
    let error = lock().drift(&templates, &image("debian:12"), "template.lock").expect_err("a lie");
    assert_eq!(error.code().as_str(), "E5022");
}

#[test]
fn an_archive_that_moved_on_says_in_which_packages() {
    let locked = archive(&["a=1", "b=1", "c=1"]);
    for (packages, expected) in [
        (&["a=1", "b=1", "c=1"][..], None),
        (&["a=1", "b=2", "c=1"], Some("b 1 → 2")),
        (&["a=1", "b=1"], Some("c 1 gone")),
        (&["a=1", "b=1", "c=1", "d=1"], Some("d 1 new")),
        (
            &["a=2", "b=2", "c=2", "d=1", "e=1", "f=1"],
            Some("a 1 → 2, b 1 → 2, c 1 → 2, d 1 new, e 1 new and 1 more"),
        ),
    ] {
        assert_eq!(locked.changes(&archive(packages)).as_deref(), expected, "{packages:?}");
    }
    let elsewhere = LockedArchive { platform: "linux/arm64".to_owned(), ..locked.clone() };
    assert_eq!(locked.changes(&elsewhere).as_deref(), Some("bookworm-slim for linux/arm64"));
}

#[test]
fn other_images_of_dockerfiles_are_held_by_name() {
    let image = |name: &str, letter| LockedBase::Registry { image: name.to_owned(), digest: digest(letter) };
    let lock = Lock { images: vec![image("golang:1.23", 'c'), image("node:20", 'd')], ..lock() };
    let text = lock.to_string();
    assert!(text.contains("\n[[image]]\nimage = \"golang:1.23\"\n"), "{text}");
    assert_eq!(Lock::parse(&text, "template.lock").expect("a lock"), lock);
    assert_eq!(lock.image("node:20"), Some(&lock.images[1]));
    assert_eq!(lock.image("debian:12"), lock.base.as_ref());
    let drift = |names: &[&str]| -> Vec<String> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        lock.image_drift(&names).iter().map(ToString::to_string).collect()
    };
    assert!(drift(&["golang:1.23", "node:20"]).is_empty());
    assert_eq!(
        drift(&["golang:1.23", "rust:1"]),
        ["the image `rust:1`: locked none, found used", "the image `node:20`: locked used, found none"]
    );
}
