//! Odd forms that mean something, and are read as they are meant.

use tar::EntryType;

use super::{Caps, Tar, extracted, gzip, outcome};

#[test]
fn the_last_of_several_members_of_one_name_counts() {
    let tar = Tar::default()
        .file("t/a", "first")
        .file("t/b", "b")
        .file("t/a", "second")
        .folder("t/d")
        .folder("t/d/")
        .file("t/./d//f", "f")
        .hard("t/d/f", "t/b")
        .hard("t/b", "t/b");
    let (picture, skipped) = extracted(tar);
    assert_eq!(picture, ["a 644 second", "b 644 b", "d/ 755", "d/f 644 b"]);
    assert!(skipped.is_empty(), "{skipped:?}");
}

#[test]
fn a_hard_link_keeps_what_its_file_was() {
    let tar = Tar::default().file("t/a", "first").hard("t/b", "t/a").file("t/a", "second");
    assert_eq!(extracted(tar).0, ["a 644 second", "b 644 first"]);
}

#[test]
fn long_names_and_links_of_either_kind_are_whole() {
    let name = format!("{}/{}", "d".repeat(200), "f".repeat(200));
    let tar = Tar::default()
        .long_name(&format!("t/{name}"))
        .file("t/x", "gnu")
        .pax("linkpath", &name)
        .link("t/pax", "x")
        .member(EntryType::GNULongLink, b"l", b"", 0, name.as_bytes())
        .link("t/gnu", "x");
    let expected = [
        format!("{}/ 755", "d".repeat(200)),
        format!("{name} 644 gnu"),
        format!("gnu -> {name}"),
        format!("pax -> {name}"),
    ];
    assert_eq!(extracted(tar).0, expected);
}

#[test]
fn a_gzip_of_several_members_is_one_archive() {
    let tar = Tar::default().file("t/a", &"a".repeat(3000)).file("t/b", "b");
    let (front, back) = tar.bytes.split_at(1700);
    let archive = [gzip(front), gzip(&[]), gzip(back)].concat();
    let (extracted, picture) = outcome(&archive, &Caps::default()).expect("extracted");
    assert_eq!((extracted.files, picture.len()), (2, 2));
}

#[test]
fn nothing_behind_the_end_mark_counts() {
    let mut tar = Tar::default().file("t/a", "a");
    tar.bytes.resize(tar.bytes.len() + 1024, 0);
    let tar = tar.file("t/b", "b").file("u/../c", "c");
    assert_eq!(extracted(tar).0, ["a 644 a"]);
}

#[test]
fn a_header_for_all_members_tells_the_commit_and_nothing_else() {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    for (key, value, expected) in [
        ("comment", commit, Some(commit)),
        ("comment", "hello", Some("hello")),
        ("path", "/etc/passwd", None),
        ("size", "99999999", None),
    ] {
        let tar = Tar::default().records(EntryType::XGlobalHeader, key, value).file("t/a", "a");
        let (extracted, picture) = outcome(&tar.gzip(), &Caps::default()).expect("extracted");
        assert_eq!((extracted.commit.as_deref(), picture), (expected, vec!["a 644 a".to_owned()]));
    }
}
