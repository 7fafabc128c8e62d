//! Every spelling, what it means, how it prints, and what is refused.

use abx_core::Fault;
use abx_reference::{Reference, Selector};

/// A one-line picture of what a text means.
fn picture(text: &str) -> String {
    match Reference::parse(text) {
        Ok(Reference::Local(path)) => format!("local {}", path.as_str()),
        Ok(Reference::Registry(image)) => format!(
            "registry {} {} {} {} {}",
            image.scheme().as_str(),
            image.host().unwrap_or("-"),
            image.repository(),
            image
                .range()
                .map_or_else(|| image.tag().unwrap_or("-").to_owned(), |range| format!("range {range}")),
            image.digest().map_or("-", |digest| &digest[..10]),
        ),
        Ok(Reference::Name(name)) => {
            let kind = match name.selector() {
                Selector::Latest => "latest",
                Selector::Exact(_) => "exact",
                Selector::Range(_) => "range",
            };
            format!("name {} {kind} {}", name.name(), name.selector())
        }
        Ok(Reference::Github(github)) => format!("github {github}"),
        Err(error) => {
            assert_eq!(error.code().as_str(), "E2005");
            assert!(!error.hints().is_empty());
            format!("error {}", error.reason)
        }
    }
}

#[track_caller]
fn check(rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(picture(text), *expected, "for `{text}`");
        if let Ok(reference) = Reference::parse(text) {
            let printed = reference.to_string();
            assert_eq!(Reference::parse(&printed), Ok(reference), "`{text}` prints as `{printed}`");
        }
    }
}

#[test]
fn local_directories() {
    check(&[
        ("./x", "local ./x"),
        ("../x", "local ../x"),
        ("/x", "local /x"),
        ("//x", "local //x"),
        ("~/x", "local ~/x"),
        ("~", "local ~"),
        (".", "local ."),
        ("..", "local .."),
        ("./", "local ./"),
        ("./with space", "local ./with space"),
        ("./x@v1:2", "local ./x@v1:2"),
        ("file:x", "local x"),
        ("file:./x", "local ./x"),
        ("file:/x", "local /x"),
        ("file:///x", "local /x"),
        ("file:file:x", "local file:x"),
        ("file:~other", "local ~other"),
        ("file:", "error the path is missing"),
        ("file://", "error the path is missing"),
        ("~other/x", "error `~other/x` would be the home directory of another user"),
        ("./a\nb", "error `\\n` cannot stand in a reference"),
    ]);
}

#[test]
fn names() {
    check(&[
        ("base", "name base latest latest"),
        ("python-base", "name python-base latest latest"),
        ("base:latest", "name base latest latest"),
        ("base:1.2.3", "name base exact 1.2.3"),
        ("base:1.2.3-rc.1+b", "name base exact 1.2.3-rc.1+b"),
        ("base:v1", "name base exact v1"),
        ("base:~1.2", "name base range ~1.2"),
        ("base:~=1.2", "name base range ~=1.2"),
        ("base:^1", "name base range ^1"),
        ("base:>=1.2, <2", "name base range >=1.2, <2"),
        ("debian:bookworm-slim", "name debian exact bookworm-slim"),
        ("", "error it is empty"),
        (":1", "error the template name is missing"),
        ("base:", "error the version is missing"),
        ("base:^", "error `^` is no version range"),
        ("base:^1.x.y", "error `^1.x.y` is no version range"),
        ("base:^1, 2", "error `^1, 2` is no version range"),
        ("base:a/b", "error `/` cannot stand in a version"),
        ("base@1.2", "error a name's version follows a `:`, not a `@`"),
        ("my base", "error ` ` cannot stand in a template name"),
        (" base", "error ` ` cannot stand in a reference"),
        ("-base", "error `-base` is no template name"),
        ("bäse", "error `ä` cannot stand in a template name"),
        ("base\0", "error `\\0` cannot stand in a reference"),
    ]);
}

#[test]
fn registries() {
    let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let pinned = format!("oci://localhost:5000/a/b:1@{digest}");
    let ranged = format!("oci://localhost:5000/a/b:^1@{digest}");
    check(&[
        ("acr://r.example.com/ns/img:tag", "registry acr r.example.com ns/img tag -"),
        ("docker://debian:bookworm-slim", "registry docker - debian bookworm-slim -"),
        ("docker://library/debian", "registry docker - library/debian - -"),
        (&pinned, "registry oci localhost:5000 a/b 1 sha256:012"),
        ("acr://r.example.com/ns/img:latest", "registry acr r.example.com ns/img latest -"),
        ("acr://r.example.com/ns/img:^1.2", "registry acr r.example.com ns/img range ^1.2 -"),
        ("oci://r.example.com:5000/img:~1.2", "registry oci r.example.com:5000 img range ~1.2 -"),
        ("oci://r.example.com/img:~=1.2", "registry oci r.example.com img range ~=1.2 -"),
        ("docker://python:>=3.11, <4", "registry docker - python range >=3.11, <4 -"),
        ("acr://r.example.com/ns/img:^x", "error `^x` is no version range"),
        (&ranged, "error `^` cannot stand in an image tag"),
        ("acr://ns/img", "error the registry host is missing"),
        ("oci://h.example/UPPER", "error `U` cannot stand in an image name"),
        ("oci://h.example/", "error the image name is missing"),
        ("oci://h.example/a@sha256:12", "error `sha256:12` is no image digest"),
        ("oci://h..x/a", "error `h..x` is no registry host"),
        ("oci://h.example:99999/a", "error `h.example:99999` is no registry host"),
        ("oci://h.example/a/../b", "error `a/../b` is no image name"),
        ("oci://h.example/a:b:c", "error `:` cannot stand in an image tag"),
        ("s3://bucket/a", "error `s3://` is not a scheme of references"),
    ]);
}

#[test]
fn github() {
    check(&[
        ("hello/world", "github hello/world"),
        ("hello/world@v1.0", "github hello/world@v1.0"),
        ("myorg/templates/node", "github myorg/templates//node"),
        ("myorg/templates//node/web@feature/x", "github myorg/templates//node/web@feature/x"),
        ("o/r.git@branch", "github o/r@branch"),
        ("o/r@^1.2", "github o/r@^1.2"),
        ("o/r@~1.2", "github o/r@~1.2"),
        ("o/r@~=1.2", "github o/r@~=1.2"),
        ("o/r//sub@>=1.2, <2", "github o/r//sub@>=1.2, <2"),
        ("o/r@=1.2.3", "github o/r@=1.2.3"),
        ("o/r@^2.0.0-rc.1", "github o/r@^2.0.0-rc.1"),
        ("o/r@latest", "github o/r@latest"),
        ("o/r@web-v1.2.0+build.5", "github o/r@web-v1.2.0+build.5"),
        ("o/r/", "github o/r"),
        ("https://github.com/o/r", "github o/r"),
        ("https://github.com/o/r.git", "github o/r"),
        ("https://github.com/o/r.git@v1", "github o/r@v1"),
        ("https://github.com/o/r/tree/main", "github o/r@main"),
        ("https://github.com/o/r/tree/v1/sub/dir/", "github o/r//sub/dir@v1"),
        ("https://github.com/o/r/releases/tag/web/v1.2.0", "github o/r@web/v1.2.0"),
        ("https://github.com/o/r/commit/0123abc", "github o/r@0123abc"),
        ("https://github.com/o/r/releases/tag/v1.0.0%2Bb", "github o/r@v1.0.0+b"),
        ("https://github.com/o/r/tree/feature%2Fx/my%20dir", "github o/r//my dir@feature/x"),
        ("https://github.com/o/r/tree/main/%ff%2", "github o/r//%ff%2@main"),
        ("https://github.com/o/r/blob/main/web/template.yaml", "github o/r//web@main"),
        ("https://github.com/o/r/blob/main/template.yaml#L3", "github o/r@main"),
        ("https://github.com/o/r/tree/main/%2e%2e/x", "error `..` cannot be a component of a sub-directory"),
        ("https://github.com/o/r/tree/main/a%0Ab", "github o/r//a%0Ab@main"),
        ("https://GitHub.com/o/r/releases", "github o/r//releases"),
        ("https://github.com/o/r?tab=readme#x", "github o/r"),
        ("git@github.com:o/r.git", "github o/r"),
        ("git@github.com:o/r.git@v1", "github o/r@v1"),
        ("ssh://git@github.com/o/r.git", "github o/r"),
        ("github:o/r", "github o/r"),
        ("github.com/o/r", "github o/r"),
        ("o/", "error the repository name is missing"),
        ("o/r@", "error the git ref is missing"),
        ("o/r@^", "error `^` is no version range"),
        ("o/r@>=", "error `>=` is no version range"),
        ("o/r@^1.2.3.4", "error `^1.2.3.4` is no version range"),
        ("o/r@^1 <2", "error `^1 <2` is no version range"),
        ("o/r@^1, 2", "error `^1, 2` is no version range"),
        ("o/r@^v1", "error `^v1` is no version range"),
        ("o/r@1.*", "error `*` cannot stand in a git ref"),
        ("o/r@HEAD~1", "error `~` cannot stand in a git ref"),
        ("o/r@main:path", "error `:` cannot stand in a git ref"),
        ("o/r@x.lock", "error `x.lock` is no git ref"),
        ("o/r@-x", "error `-x` is no git ref"),
        ("o/r@a/", "error `a/` is no git ref"),
        ("https://github.com/o/r/tree/main/../x", "error `..` cannot be a component of a sub-directory"),
        ("https://github.com/o/r/releases/tag/", "github o/r//releases/tag"),
        ("o/r@a..b", "error `a..b` is no git ref"),
        ("o/r@a b", "error ` ` cannot stand in a git ref"),
        ("o/../x", "error `..` is no repository name"),
        ("o/r//../x", "error `..` cannot be a component of a sub-directory"),
        ("o/r//a b/c", "github o/r//a b/c"),
        ("o/r//a /", "error `a ` cannot be a component of a sub-directory"),
        ("o/r///x", "error `` cannot be a component of a sub-directory"),
        ("https://example.com/o/r", "error `example.com` is not GitHub"),
        ("https://user:secret@github.com/o/r", "error who logs in does not belong in it"),
        ("https://secret@github.com/o/r", "error who logs in does not belong in it"),
        ("git+https://secret@github.com/o/r@v1", "error who logs in does not belong in it"),
        ("ssh://me:secret@github.com/o/r", "error who logs in does not belong in it"),
        ("docker://me:secret@host.io/ns/img:1", "error who logs in does not belong in it"),
        ("registry.example.com/ns/img:1", "error `registry.example.com` is no owner"),
    ]);
}

#[test]
fn owner_and_repository_compare_without_case() {
    assert_eq!(Reference::parse("Hello/World@v1"), Reference::parse("hello/world@v1"));
    assert_ne!(Reference::parse("hello/world@V1"), Reference::parse("hello/world@v1"));
    assert_eq!(Reference::parse("Hello/World").map(|it| it.to_string()), Ok("Hello/World".to_owned()));
}

#[test]
fn a_sub_directory_has_a_say_where_a_tag_is_chosen() {
    for (one, other, expected) in [
        ("o/r//a", "O/R//b", true),
        ("o/r//a@v1", "o/r@v1", true),
        ("o/r//a@v1", "o/r//a@V1", false),
        ("o/r//a@^1", "o/r//b@^1", false),
        ("o/r//a@^1", "O/r//a@^1", true),
        ("o/r//a@^1", "o/r//a@^1.0", false),
        ("o/r//a@latest", "o/r//b@latest", false),
        ("o/r@latest", "o/r@latest", true),
        ("o/r", "o/s", false),
    ] {
        let (Ok(Reference::Github(one)), Ok(Reference::Github(other))) =
            (Reference::parse(one), Reference::parse(other))
        else {
            panic!("{one} {other}")
        };
        assert_eq!(one.is_pinned_with(&other), expected, "{one} {other}");
    }
}

#[test]
fn an_address_can_be_told_apart_in_other_ways() {
    for (text, expected) in [
        ("https://github.com/o/r/tree/a/b/c/d", "o/r//c/d@a/b o/r//d@a/b/c o/r@a/b/c/d"),
        ("https://github.com/o/r/tree/a/b", "o/r@a/b"),
        ("https://github.com/o/r/tree/a", ""),
        ("o/r//sub", ""),
        ("o/r//sub@^1", ""),
    ] {
        let Ok(Reference::Github(github)) = Reference::parse(text) else { panic!("{text}") };
        let longer: Vec<String> = github.longer_refs().map(|longer| longer.to_string()).collect();
        assert_eq!(longer.join(" "), expected, "{text}");
    }
}

#[test]
fn selectors_choose() {
    let tags = ["0.2.5", "0.3.0", "v1.2.0", "1.2.9", "1.10.0", "2.0.0-rc.1", "stable", "1.2.9+build"];
    let rows = [
        ("1.2.9", Some("1.2.9")),
        ("1.2.0", Some("v1.2.0")),
        ("stable", Some("stable")),
        ("9", None),
        ("~1.2", Some("1.2.9")),
        ("~=1.2", Some("1.2.9")),
        ("^1", Some("1.10.0")),
        ("^0.2", Some("0.2.5")),
        ("^2", None),
        ("^2.0.0-rc.1", Some("2.0.0-rc.1")),
        ("latest", Some("1.10.0")),
    ];
    for (selector, expected) in rows {
        let chosen = Selector::parse(selector).expect(selector).choose(tags);
        assert_eq!(chosen, expected, "for `{selector}`");
    }
}

#[test]
fn a_repository_leads_to_its_other_directories() {
    let Ok(Reference::Github(github)) = Reference::parse("o/r//a@v1") else { panic!("a repository") };
    let elsewhere =
        |subdirectory, git_ref| github.elsewhere(subdirectory, git_ref).map(|found| found.to_string());
    for (subdirectory, git_ref, expected) in [
        (None, None, Ok("o/r")),
        (Some("b/c/"), Some("feature/x"), Ok("o/r//b/c@feature/x")),
        (None, Some("^1"), Ok("o/r@^1")),
        (Some("../b"), None, Err("o/r//../b")),
        (Some("/etc"), None, Err("o/r///etc")),
        (Some("b@v1"), None, Err("o/r//b@v1")),
        (Some("b\tc"), None, Err("o/r//b\tc")),
        (None, Some("a..b"), Err("o/r@a..b")),
        (None, Some(""), Err("o/r@")),
    ] {
        match (elsewhere(subdirectory, git_ref), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(error), Err(expected)) => assert_eq!(error.text, expected),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }
}

#[test]
fn a_password_in_a_reference_is_not_repeated() {
    for text in ["https://user:secret@github.com/o/r", "oci://secret@host.io/img", "x://secret@host/"] {
        let error = Reference::parse(text).expect_err(text);
        assert!(!format!("{error} {error:?} {:?}", error.hints()).contains("secret"), "{error:?}");
    }
}
