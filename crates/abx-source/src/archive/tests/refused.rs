//! What is refused whole.

use tar::EntryType;

use super::{Caps, Place, Tar, gzip, outcome};

#[test]
fn archives_are_refused_whole() {
    let one = || Tar::default().file("t/a", "a");
    let sound = one().gzip();
    let pax = |record: &str| Tar::default().member(EntryType::XHeader, b"pax", b"", 0o644, record.as_bytes());
    let mut flipped = sound.clone();
    let checksum = flipped.len() - 6;
    flipped[checksum] ^= 1;
    let deep = format!("17 path=t/{}\n", "x/".repeat(3));
    let rows: Vec<(&str, Vec<u8>, &str)> = vec![
        ("dots", one().file("t/../b", "b").gzip(), "E5020 the archive has the unsafe path \"t/../b\""),
        ("absolute", one().file("/t/b", "b").gzip(), "E5020 the archive has the unsafe path \"/t/b\""),
        ("two tops", one().file("u/b", "b").gzip(), "E5020 the archive has more than one top folder"),
        ("no top", Tar::default().file("a", "a").gzip(), "E5020 the archive's content is not in a folder"),
        ("no entry", Tar::default().gzip(), "E5020 the archive is empty"),
        ("no file", Tar::default().folder("t/").gzip(), "E5020 the archive is empty"),
        (
            "a file for a folder",
            one().file("t", "t").gzip(),
            "E5020 the archive's content is not in a folder",
        ),
        ("no byte", Vec::new(), "E5020 the archive is damaged"),
        ("a page", b"<!DOCTYPE html><p>Log in".to_vec(), "E5020 what was sent is no gzip archive"),
        ("a page that begins alike", b"\x1f<html>".to_vec(), "E5020 what was sent is no gzip archive"),
        ("a tar, not compressed", one().bytes, "E5020 what was sent is no gzip archive"),
        ("compressed twice", gzip(&sound), "E5020 the archive is damaged"),
        ("no tar", gzip(&[b'x'; 2048]), "E5020 the archive is damaged"),
        ("more behind the end", [&sound[..], b"more"].concat(), "E5020 the archive is damaged"),
        ("a page behind the end", [&sound[..], &sound[..40]].concat(), "E5020 the archive is damaged"),
        ("cut", sound[..sound.len() - 12].to_vec(), "E5020 the archive is damaged"),
        ("wrong checksum", flipped, "E5020 the archive is damaged"),
        ("hard link out", one().hard("t/h", "/etc/passwd").gzip(), HARD_LINK),
        ("hard link up", one().hard("t/h", "t/../../x").gzip(), HARD_LINK),
        ("hard link to nothing", one().hard("t/h", "t/none").gzip(), HARD_LINK),
        ("hard link to a link", one().link("t/l", "a").hard("t/h", "t/l").gzip(), HARD_LINK),
        (
            "hard link through a link",
            one().file("t/d/f", "").link("t/l", "d").hard("t/h", "t/l/f").gzip(),
            HARD_LINK,
        ),
        (
            "folder and file",
            one().folder("t/d").file("t/d", "d").gzip(),
            "E5020 the archive has \"d\" twice, as a folder and as something else",
        ),
        (
            "below a file",
            one().file("t/a/b", "b").gzip(),
            "E5020 the archive has \"a\" twice, as a folder and as something else",
        ),
        (
            "folder for a file",
            one().folder("t/a").gzip(),
            "E5020 the archive has \"a\" twice, as a folder and as something else",
        ),
        (
            "folder for a link",
            one().folder("t/d").link("t/d", "a").gzip(),
            "E5020 the archive has \"d\" twice, as a folder and as something else",
        ),
        (
            "dots in PAX",
            one().pax("path", "t/../../b").file("t/b", "b").gzip(),
            "E5020 the archive has the unsafe path \"t/../../b\"",
        ),
        (
            "absolute in PAX",
            one().pax("path", "/b").file("t/b", "b").gzip(),
            "E5020 the archive has the unsafe path \"/b\"",
        ),
        (
            "a NUL in PAX",
            one().pax("path", "t/b\0c").file("t/b", "b").gzip(),
            "E5020 the archive has the unsafe path \"t/b\\0c\"",
        ),
        (
            "another top in PAX",
            one().pax("path", "u/b").file("t/b", "b").gzip(),
            "E5020 the archive has more than one top folder",
        ),
        ("a link out in PAX", one().pax("linkpath", "/etc/passwd").hard("t/h", "t/a").gzip(), HARD_LINK),
        (
            "dots behind a long name",
            one().long_name("t/../b").file("t/b", "b").gzip(),
            "E5020 the archive has the unsafe path \"t/../b\"",
        ),
        (
            "sparse",
            one().member(EntryType::GNUSparse, b"t/s", b"", 0o644, b"x").gzip(),
            "E5020 the archive is damaged",
        ),
        (
            "sparse in PAX",
            one().pax("GNU.sparse.major", "1").file("t/s", "s").gzip(),
            "E5020 the archive is damaged",
        ),
        (
            "a volume's label",
            one().member(EntryType::new(b'V'), b"label", b"", 0, b"").gzip(),
            "E5020 the archive is damaged",
        ),
        ("a header for nothing", one().pax("path", "t/b").gzip(), "E5020 the archive is damaged"),
        ("size too small", one().pax("size", "0").file("t/b", "data").gzip(), "E5020 the archive is damaged"),
        (
            "size that is no number",
            one().pax("size", "-1").file("t/b", "b").gzip(),
            "E5020 the archive is damaged",
        ),
        ("size too large", pax("17 size=99999999\n").file("t/a", "a").gzip(), "E5020 the archive is damaged"),
        (
            "size beyond all",
            pax("29 size=18446744073709551615\n").file("t/a", "a").gzip(),
            "E5021 the archive has more than 1073741824 bytes when unpacked",
        ),
        ("malformed pax", pax(&deep[..9]).file("t/a", "a").gzip(), "E5020 the archive is damaged"),
        (
            "a long name",
            Tar::default()
                .member(EntryType::GNULongName, b"n", b"", 0, format!("t/{}", "n".repeat(256)).as_bytes())
                .file("t/a", "a")
                .gzip(),
            "E5021 the archive has more than 255 bytes in a file's name",
        ),
        (
            "a long path",
            Tar::default()
                .member(EntryType::GNULongName, b"n", b"", 0, format!("t/{}x", "n/".repeat(2048)).as_bytes())
                .file("t/a", "a")
                .gzip(),
            "E5021 the archive has more than 4096 bytes in a path",
        ),
    ];
    for (name, archive, expected) in rows {
        assert_eq!(outcome(&archive, &Caps::default()), Err(expected.to_owned()), "{name}");
    }
}

const HARD_LINK: &str = "E5020 the hard link \"h\" leads to no file of the archive";

#[test]
fn an_archive_that_ends_anywhere_before_its_end_is_damaged() {
    let whole = Tar::default().file("t/a", "a").link("t/b", "a").folder("t/d").gzip();
    for end in 0..whole.len() {
        let outcome = outcome(&whole[..end], &Caps::default());
        assert_eq!(outcome, Err("E5020 the archive is damaged".to_owned()), "{end} of {}", whole.len());
    }
}

#[test]
fn every_refusal_says_what_to_do() {
    use abx_core::Fault;
    let one = || Tar::default().file("t/a", "a");
    for archive in [
        one().file("t/../b", "b").gzip(),
        one().file("u/b", "b").gzip(),
        one().hard("t/h", "/etc/passwd").gzip(),
        one().folder("t/a").gzip(),
        one().gzip()[..20].to_vec(),
        b"<html>".to_vec(),
        Tar::default().gzip(),
    ] {
        let place = Place::new();
        let fault = crate::archive::extract(std::io::Cursor::new(archive), &place.root(), &Caps::default());
        assert_eq!(fault.expect_err("refused").hints().len(), 1);
    }
}
