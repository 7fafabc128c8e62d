use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::tarball::{Time, Writer, Xattr};

fn member(path: &str, kind: Kind) -> Entry {
    Entry {
        path: path.into(),
        mode: if kind == Kind::Directory { 0o755 } else { 0o644 },
        kind,
        uid: 0,
        gid: 0,
        mtime: Time { seconds: 1_000_000_000, nanoseconds: 0 },
        size: 0,
        xattrs: Vec::new(),
    }
}

fn dir(path: &str) -> Entry {
    member(path, Kind::Directory)
}

fn file(path: &str) -> Entry {
    Entry { size: 4, ..member(path, Kind::File) }
}

fn link(path: &str, target: &str) -> Entry {
    member(path, Kind::Symlink(target.into()))
}

fn hard(path: &str, target: &str) -> Entry {
    member(path, Kind::HardLink(target.into()))
}

/// An archive; every file holds its first four letters' worth of `data`.
fn archive(members: &[Entry]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for member in members {
        writer.append(member, &b"data"[..]).expect("append");
    }
    writer.finish().expect("finish")
}

/// A place to unpack into, with a file beside it that nothing may touch.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skipped("owners and whiteouts need root");
            return None;
        }
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir(dir.path().join("layer")).expect("mkdir");
        std::fs::create_dir(dir.path().join("outside")).expect("mkdir");
        std::fs::write(dir.path().join("outside/victim"), "safe").expect("write");
        Some(Self { dir })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("layer").join(name)
    }

    fn unpack(&self, members: &[Entry]) -> Result<Unpacked, ImageError> {
        unpack(&archive(members)[..], &self.path(""))
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect(name)
    }

    fn opaque(&self, name: &str) -> bool {
        let mut value = [0; 8];
        rustix::fs::lgetxattr(self.path(name), "trusted.overlay.opaque", &mut value[..]).is_ok()
    }

    fn whiteout(&self, name: &str) -> bool {
        let metadata = self.path(name).symlink_metadata().expect(name);
        metadata.file_type().is_char_device() && metadata.rdev() == 0
    }

    fn assert_outside_untouched(&self) {
        let outside = self.dir.path().join("outside");
        assert_eq!(std::fs::read_to_string(outside.join("victim")).expect("victim"), "safe");
        assert_eq!(std::fs::read_dir(&outside).expect("list").count(), 1);
        assert_eq!(std::fs::read_dir(self.dir.path()).expect("list").count(), 2);
        let mode = std::fs::metadata(outside).expect("outside").permissions().mode();
        assert_eq!(mode & 0o7777, 0o755);
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}

#[test]
fn everything_about_a_file_is_kept() {
    let Some(place) = Place::new() else { return };
    let capability = [1, 0, 0, 2, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let xattr = |name: &str, value: &[u8]| Xattr { name: name.into(), value: value.into() };
    let tool = Entry {
        mode: 0o4755,
        uid: 12,
        gid: 34,
        mtime: Time { seconds: 5, nanoseconds: 7 },
        xattrs: vec![
            xattr("security.capability", &capability),
            xattr("trusted.overlay.redirect", b"/etc"),
            xattr("user.overlay.opaque", b"y"),
        ],
        ..file("bin/tool")
    };
    let members =
        [Entry { mode: 0o1777, ..dir("bin/") }, tool, hard("bin/alias", "bin/tool"), member("f", Kind::Fifo)];
    place.unpack(&members).expect("unpack");
    let metadata = place.path("bin/tool").metadata().expect("tool");
    assert_eq!((metadata.mode() & 0o7777, metadata.uid(), metadata.gid()), (0o4755, 12, 34));
    assert_eq!((metadata.mtime(), metadata.nlink()), (5, 2));
    assert_eq!(place.path("bin/alias").metadata().expect("alias").ino(), metadata.ino());
    let directory = place.path("bin").metadata().expect("bin");
    assert_eq!((directory.mode() & 0o7777, directory.mtime()), (0o1777, 1_000_000_000));
    assert!(place.path("f").metadata().expect("fifo").file_type().is_fifo());
    let mut value = [0; 64];
    let length = rustix::fs::lgetxattr(place.path("bin/tool"), "security.capability", &mut value[..]);
    assert_eq!(&value[..length.expect("capability")], capability);
    let listed = rustix::fs::llistxattr(place.path("bin/tool"), &mut value[..]).expect("list");
    assert_eq!(&value[..listed], b"security.capability\0", "nothing of overlayfs came in");
}

#[test]
fn markers_become_what_overlayfs_reads() {
    let Some(place) = Place::new() else { return };
    let marker = |path: &str| member(path, Kind::File);
    let members = [
        marker("etc/.wh.gone"),
        dir("var/"),
        marker("var/.wh..wh..opq"),
        // A directory here and gone below: only ours shows. In either order.
        dir("new/"),
        marker(".wh.new"),
        marker(".wh.late"),
        dir("late/"),
        marker(".wh.implicit"),
        file("implicit/file"),
        // A file here hides what is below anyway.
        file("kept"),
        marker(".wh.kept"),
        marker(".wh..wh.plnk"),
    ];
    place.unpack(&members).expect("unpack");
    assert!(place.whiteout("etc/gone"));
    for name in ["var", "new", "late", "implicit"] {
        assert!(place.opaque(name), "{name}");
    }
    assert!(!place.opaque("etc"));
    assert_eq!(place.text("kept"), "data");
    let names: Vec<_> =
        std::fs::read_dir(place.path("")).expect("list").flatten().map(|e| e.file_name()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
}

#[test]
fn a_later_member_replaces_an_earlier_one() {
    let Some(place) = Place::new() else { return };
    let members = [
        dir("usr/lib/"),
        link("lib", "usr/lib"),
        // Through the link, as packages do.
        file("lib/first"),
        // Over the link: from here on a directory of its own.
        dir("lib/"),
        file("lib/second"),
        dir("was-dir/deep/"),
        file("was-dir"),
        link("was-link", "../outside/victim"),
        file("was-link"),
        file("twice"),
        hard("twice", "twice"),
    ];
    place.unpack(&members).expect("unpack");
    assert_eq!(place.text("usr/lib/first"), "data");
    assert!(place.path("lib").symlink_metadata().expect("lib").is_dir());
    assert!(!place.path("lib/first").exists());
    assert_eq!(place.text("lib/second"), "data");
    assert_eq!(place.text("was-dir"), "data");
    assert_eq!(place.text("was-link"), "data");
    assert_eq!(place.text("twice"), "data");
    place.assert_outside_untouched();
}

#[test]
fn nothing_lands_outside_whatever_the_archive_says() {
    let Some(place) = Place::new() else { return };
    let outside = place.dir.path().join("outside");
    let outside = outside.to_str().expect("text");
    let chmod = |path: &str| Entry { mode: 0o777, ..dir(path) };
    let corpus: Vec<Vec<Entry>> = vec![
        vec![file("../outside/new")],
        vec![file("a/../../outside/new")],
        vec![file(&format!("{outside}/victim"))],
        vec![link("out", "../outside"), file("out/victim")],
        vec![link("out", outside), file("out/victim")],
        vec![link("out", outside), dir("out/sub/")],
        // A directory member over a link must not change what the link points to.
        vec![link("out", outside), chmod("out")],
        vec![link("out", outside), chmod("out/")],
        vec![link("a", "b"), link("b", outside), file("a/victim")],
        vec![link("up", ".."), file("up/outside/victim")],
        vec![dir("d"), link("d/up", "../.."), file("d/up/outside/new")],
        vec![link("root", "/"), file("root/outside-new")],
        vec![link("self", "/proc/self/root"), file("self/tmp/never-made-by-a-test")],
        vec![hard("stolen", "../outside/victim")],
        vec![hard("stolen", &format!("{outside}/victim"))],
        vec![link("out", outside), hard("stolen", "out/victim")],
        // A hard link to a link, then a file through it.
        vec![link("l", &format!("{outside}/victim")), hard("h", "l"), file("h")],
        vec![link("victim", &format!("{outside}/victim")), file("victim")],
        // A parent that changes under a name looked up before.
        vec![dir("p"), file("p/1"), file("p"), link("p", outside), file("p/victim")],
        vec![dir("p/q"), file("p/q/1"), link("p", outside), file("p/q/victim")],
        vec![link("out", outside), member("out/.wh.victim", Kind::File)],
        vec![link("out", outside), member("out/.wh..wh..opq", Kind::File)],
        vec![member("d/.wh...", Kind::File)],
        vec![member("d/.wh..", Kind::File)],
        vec![link("loop", "loop"), file("loop/x")],
        vec![file("x"), file("x/y")],
        vec![hard("x", "nowhere/at/all")],
        vec![dir("d"), hard("x", "d")],
        vec![member("whole\0name", Kind::File)],
        vec![link("/", outside)],
        vec![file("./")],
        vec![link("etc", outside), hard("etc/victim", "etc/victim")],
    ];
    for members in corpus {
        let _ = std::fs::remove_dir_all(place.path(""));
        std::fs::create_dir(place.path("")).expect("mkdir");
        let paths: Vec<_> = members.iter().map(|member| printable(&member.path)).collect();
        let result = place.unpack(&members);
        if let Err(error) = &result {
            assert!(matches!(error, ImageError::Layer { .. }), "{paths:?}: {error}");
        }
        place.assert_outside_untouched();
    }
    assert!(!std::path::Path::new("/tmp/never-made-by-a-test").exists());
}

#[test]
fn devices_are_left_out_and_named() {
    let Some(place) = Place::new() else { return };
    let device = |path: &str, minor| member(path, Kind::Device { character: true, major: 0, minor });
    let members: Vec<_> = std::iter::once(device("fake-whiteout", 0))
        .chain((1..30).map(|minor| device(&format!("dev/{minor}"), minor)))
        .collect();
    let unpacked = place.unpack(&members).expect("unpack");
    assert_eq!(std::fs::read_dir(place.path("")).expect("list").count(), 0);
    assert!(unpacked.notes[0].contains("fake-whiteout"), "{:?}", unpacked.notes);
    assert_eq!(unpacked.notes.len(), NOTES + 1);
}

#[test]
fn every_compression_gives_the_same_digest() {
    let Some(place) = Place::new() else { return };
    let mut plain = archive(&[file("a")]);
    // What follows the end mark counts too.
    plain.extend([0; 4096]);
    let gzip = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&plain).expect("write");
        encoder.finish().expect("finish")
    };
    let zstd = zstd::stream::encode_all(&plain[..], 1).expect("zstd");
    for stream in [&plain, &gzip, &zstd] {
        let unpacked = unpack(&stream[..], &place.path("")).expect("unpack");
        assert_eq!(unpacked.diff_id, Digest::of(&plain));
        assert_eq!(unpacked.bytes, plain.len() as u64);
    }
    let damaged = unpack(&gzip[..gzip.len() - 4], &place.path(""));
    assert!(matches!(damaged, Err(ImageError::Layer { source: LayerFault::Tar(_), .. })), "{damaged:?}");
    let cut = unpack(&plain[..514], &place.path(""));
    assert!(matches!(cut, Err(ImageError::Layer { source: LayerFault::Tar(_), .. })), "{cut:?}");
}
