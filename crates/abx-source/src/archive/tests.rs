use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use abx_core::Fault;
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::EntryType;

use super::{Caps, Extracted, extract};

/// A tar that says whatever a test wants.
#[derive(Default)]
struct Tar {
    bytes: Vec<u8>,
}

impl Tar {
    fn member(mut self, kind: EntryType, path: &[u8], link: &[u8], mode: u32, data: &[u8]) -> Self {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..path.len()].copy_from_slice(path);
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link);
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(data.len() as u64);
        header.set_cksum();
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(data);
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
        self
    }

    fn file(self, path: &str, data: &str) -> Self {
        self.member(EntryType::Regular, path.as_bytes(), b"", 0o644, data.as_bytes())
    }

    fn folder(self, path: &str) -> Self {
        self.member(EntryType::Directory, path.as_bytes(), b"", 0o755, b"")
    }

    fn link(self, path: &str, target: &str) -> Self {
        self.member(EntryType::Symlink, path.as_bytes(), target.as_bytes(), 0o777, b"")
    }

    fn hard(self, path: &str, target: &str) -> Self {
        self.member(EntryType::Link, path.as_bytes(), target.as_bytes(), 0o644, b"")
    }

    fn gzip(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 1024, 0);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.bytes).expect("gzip");
        encoder.finish().expect("gzip")
    }
}

/// What became of an archive: `CODE message`, or what was extracted and a picture of the directory.
fn outcome(archive: &[u8], caps: &Caps) -> Result<(Extracted, Vec<String>), String> {
    let dir = tempfile::tempdir().expect("tempdir");
    let root = dir.path().join("root");
    fs::create_dir(&root).expect("mkdir");
    let result = extract(std::io::Cursor::new(archive.to_vec()), &root, caps);
    let beside: Vec<_> = fs::read_dir(dir.path()).expect("dir").flatten().map(|e| e.file_name()).collect();
    assert_eq!(beside, ["root"], "nothing is made beside the directory");
    match result {
        Ok(extracted) => Ok((extracted, picture(&root))),
        Err(fault) => Err(format!("{} {fault}", fault.code())),
    }
}

fn picture(root: &Path) -> Vec<String> {
    let walk = walkdir::WalkDir::new(root).min_depth(1).sort_by_file_name();
    walk.into_iter()
        .map(|entry| {
            let entry = entry.expect("entry");
            let path = entry.path().strip_prefix(root).expect("below").display().to_string();
            let metadata = entry.path().symlink_metadata().expect("metadata");
            let mode = metadata.permissions().mode() & 0o7777;
            match metadata.file_type() {
                kind if kind.is_dir() => format!("{path}/ {mode:o}"),
                kind if kind.is_symlink() => {
                    format!("{path} -> {}", fs::read_link(entry.path()).expect("link").display())
                }
                _ => format!("{path} {mode:o} {}", fs::read_to_string(entry.path()).expect("text")),
            }
        })
        .collect()
}

fn extracted(tar: Tar) -> (Vec<String>, Vec<String>) {
    let (extracted, picture) = outcome(&tar.gzip(), &Caps::default()).expect("extracted");
    (picture, extracted.skipped)
}

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
fn a_file_in_the_place_of_a_link_is_not_written_through_it() {
    let (picture, _) = extracted(Tar::default().file("t/a", "a").link("t/x", "a").file("t/x", "x"));
    assert_eq!(picture, ["a 644 a", "x 644 x"]);
}

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
        ("no byte", Vec::new(), "E5020 the archive is damaged"),
        ("a page", b"<!DOCTYPE html><p>Log in".to_vec(), "E5020 what was sent is no gzip archive"),
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
fn bombs_end_at_the_caps() {
    let caps = Caps { entries: 3, compressed: 2048, expanded: 4096, ..Caps::default() };
    let many = (0..4).fold(Tar::default(), |tar, n| tar.file(&format!("t/{n}"), ""));
    let large = Tar::default().file("t/a", &"0".repeat(4097));
    // Nothing declares these bytes.
    let mut zeros = Tar::default().file("t/a", "a");
    zeros.bytes.resize(64 << 10, 0);
    let noise: String =
        (0..9000u32).map(|n| char::from(b'!' + (n.wrapping_mul(2_654_435_761) >> 24) as u8 % 90)).collect();
    for (archive, expected) in [
        (many.gzip(), "E5021 the archive has more than 3 entries"),
        (large.gzip(), "E5021 the archive has more than 4096 bytes when unpacked"),
        (zeros.gzip(), "E5021 the archive has more than 16384 bytes when unpacked"),
    ] {
        assert_eq!(outcome(&archive, &caps), Err(expected.to_owned()));
    }
    let small = Caps { compressed: 64, ..Caps::default() };
    let archive = Tar::default().file("t/b", &noise).gzip();
    assert_eq!(outcome(&archive, &small), Err("E5021 the archive has more than 64 bytes of download".into()));
}

#[test]
fn pointers_and_submodules_are_named() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
    let modules = "[submodule \"lib\"]\n\tpath = vendor/lib\n\turl = https://example.org/lib\n";
    let tar = Tar::default().file("t/model.bin", pointer).file("t/.gitmodules", modules);
    let (extracted, _) = outcome(&tar.gzip(), &Caps::default()).expect("extracted");
    assert_eq!((extracted.lfs, extracted.submodules), (vec!["model.bin".into()], vec!["vendor/lib".into()]));
}
