//! A selector that stands apart from its reference.

use abx_reference::{TagError, tagged};

#[test]
fn a_tag_is_put_where_the_form_has_it() {
    for (text, tag, expected) in [
        ("hello/world", "v1.2.0", "hello/world@v1.2.0"),
        ("hello/world//sub", "^1", "hello/world//sub@^1"),
        ("hello/world", "feature/x", "hello/world@feature/x"),
        ("hello/world@v1", "v1", "hello/world@v1"),
        ("python-base", "~1.0", "python-base:~1.0"),
        ("python-base:1.0.0", "1.0.0", "python-base:1.0.0"),
        ("acr://registry.example/ns/img", "v1", "acr://registry.example/ns/img:v1"),
        ("acr://registry.example:5000/ns/img", "v1", "acr://registry.example:5000/ns/img:v1"),
    ] {
        assert_eq!(tagged(text, tag).map(|reference| reference.to_string()).as_deref(), Ok(expected));
    }
}

#[test]
fn what_says_something_else_already_is_refused() {
    for (text, tag, own) in [
        ("hello/world@v1", "v2", "v1"),
        ("python-base:latest", "1.0.0", "latest"),
        ("docker://debian:12", "13", "12"),
        (
            "acr://registry.example/img:v1@sha256:0000000000000000000000000000000000000000000000000000000000000000",
            "v1",
            "v1@sha256:0000000000000000000000000000000000000000000000000000000000000000",
        ),
    ] {
        let clash = TagError::Clash { text: text.into(), own: own.into(), tag: tag.into() };
        assert_eq!(tagged(text, tag), Err(clash));
    }
}

#[test]
fn a_directory_has_no_tags_and_a_malformed_tag_is_told() {
    assert_eq!(tagged("./mine", "v1"), Err(TagError::Directory { text: "./mine".into() }));
    for (text, tag) in [("hello/world", "a b"), ("python-base", "a/b"), ("hello//", "v1")] {
        assert!(matches!(tagged(text, tag), Err(TagError::Malformed(_))), "{text} {tag}");
    }
}
