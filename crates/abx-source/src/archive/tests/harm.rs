//! What is left out or neutralised.

use tar::EntryType;

use super::{Caps, Place, Tar, extracted, outcome, picture};

#[test]
fn what_is_sound_is_there_without_its_top_folder_and_special_modes() {
    let tar = Tar::default()
        .folder("top/")
        .file("top/README", "readme")
        .member(EntryType::Regular, b"top/bin/run", b"", 0o6755, b"#!/bin/sh")
        .member(EntryType::Directory, b"top/sticky", b"", 0o1777, b"")
        .link("top/bin/readme", "../README")
        .hard("top/again", "top/README")
        .file("top/readme", "another case");
    let (picture, skipped) = extracted(tar);
    assert_eq!(
        picture,
        [
            "README 644 readme",
            "again 644 readme",
            "bin/ 755",
            "bin/readme -> ../README",
            "bin/run 755 #!/bin/sh",
            "readme 644 another case",
            "sticky/ 755",
        ]
    );
    assert!(skipped.is_empty(), "{skipped:?}");
}

#[test]
fn what_could_do_harm_is_left_out_and_named() {
    let tar = Tar::default()
        .file("t/keep", "k")
        .link("t/abs", "/etc")
        .file("t/abs/passwd", "evil")
        .link("t/up", "../../x")
        .link("t/inside", "d")
        .file("t/d/f", "f")
        .file("t/inside/through", "evil")
        .member(EntryType::Char, b"t/null", b"", 0o666, b"")
        .member(EntryType::Fifo, b"t/pipe", b"", 0o666, b"")
        .member(EntryType::Regular, b"t/\xff\xfe", b"", 0o644, b"x")
        // Inside by its text, outside by way of another link.
        .link("t/a/b/root", "../..")
        .link("t/chained", "a/b/root/../etc");
    let (picture, skipped) = extracted(tar);
    assert_eq!(
        picture,
        ["a/ 755", "a/b/ 755", "a/b/root -> ../..", "d/ 755", "d/f 644 f", "inside -> d", "keep 644 k"]
    );
    assert_eq!(
        skipped,
        [
            "\"abs/passwd\" was left out: it would go through a link",
            "\"inside/through\" was left out: it would go through a link",
            "\"null\" was left out: it is a device",
            "\"pipe\" was left out: it is a FIFO",
            "\"\u{fffd}\u{fffd}\" was left out: its name is not UTF-8",
            "\"abs\" was left out: it leads out of the archive, to \"/etc\"",
            "\"up\" was left out: it leads out of the archive, to \"../../x\"",
            "\"chained\" was left out: it leads out of the archive",
        ]
    );
}

#[test]
fn what_names_a_place_of_this_machine_does_not_reach_it() {
    let place = Place::new();
    let outside = place.outside().display().to_string();
    let tar = Tar::default()
        .file("t/keep", "k")
        .link("t/out", &outside)
        .file("t/out/secret", "evil")
        .file("t/out/new", "evil")
        .link("t/out/d/link", "secret")
        .folder("t/out/d/folder")
        // The name is taken again, by something else and by the same.
        .link("t/file", &format!("{outside}/secret"))
        .file("t/file", "mine")
        .link("t/twice", &outside)
        .link("t/twice", "keep");
    let extracted = place.extract(&tar.gzip(), &Caps::default()).expect("extracted");
    assert_eq!(picture(&place.root()), ["file 644 mine", "keep 644 k", "twice -> keep"]);
    assert_eq!((extracted.left_out, extracted.files), (5, 2));
    for name in ["h", "d/h"] {
        let tar = Tar::default().file("t/a", "a").hard(&format!("t/{name}"), &format!("{outside}/secret"));
        let fault = Place::new().extract(&tar.gzip(), &Caps::default()).expect_err("a hard link out");
        assert_eq!(fault, format!("E5020 the hard link {name:?} leads to no file of the archive"));
    }
}

#[test]
fn links_may_be_there_before_what_they_lead_to_and_lead_nowhere_or_in_circles() {
    let tar = Tar::default()
        .link("t/early", "d/late")
        .link("t/round", "round")
        .link("t/module", "vendor/lib")
        .file("t/d/late", "l")
        .link("t/d/up", "../d/late")
        .member(EntryType::Symlink, b"t/odd", b"\xff", 0o777, b"")
        .pax("linkpath", "a\0b")
        .link("t/none", "x");
    let (picture, skipped) = extracted(tar);
    assert_eq!(
        picture,
        [
            "d/ 755",
            "d/late 644 l",
            "d/up -> ../d/late",
            "early -> d/late",
            "module -> vendor/lib",
            "round -> round"
        ]
    );
    let expected =
        ["\"none\" was left out: it leads nowhere", "\"odd\" was left out: its target is not UTF-8"];
    assert_eq!(skipped, expected);
}

#[test]
fn a_file_in_the_place_of_a_link_is_not_written_through_it() {
    let (picture, _) = extracted(Tar::default().file("t/a", "a").link("t/x", "a").file("t/x", "x"));
    assert_eq!(picture, ["a 644 a", "x 644 x"]);
}

#[test]
fn pointers_and_submodules_are_named() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
    // A text that begins like one has more bytes than a pointer may have.
    let about = format!("{pointer}{}", "-".repeat(2000));
    let modules = "[submodule \"lib\"]\n\tpath = vendor/lib\n\turl = https://example.org/lib\n";
    let tar = Tar::default()
        .file("t/model.bin", pointer)
        .file("t/about", &about)
        .file("t/.gitmodules", modules)
        .file("t/d/.gitmodules", "[submodule \"x\"]\n\tpath = x\n");
    let (extracted, _) = outcome(&tar.gzip(), &Caps::default()).expect("extracted");
    assert_eq!((extracted.lfs, extracted.submodules), (vec!["model.bin".into()], vec!["vendor/lib".into()]));
}
