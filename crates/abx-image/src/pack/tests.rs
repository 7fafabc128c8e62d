use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, XattrFlags, lsetxattr, mknodat};
use tempfile::TempDir;

use super::*;
use crate::unpack;

struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skipped("whiteouts and owners need root");
            return None;
        }
        Some(Self { dir: tempfile::tempdir().expect("tempdir") })
    }

    fn layer(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(&path).expect("mkdir");
        path
    }

    /// A layer with everything a layer may have.
    fn full_layer(&self) -> PathBuf {
        let layer = self.layer("full");
        let write = |name: &str, text: &str| std::fs::write(layer.join(name), text).expect(name);
        for name in ["b", "b/opaque", "a"] {
            std::fs::create_dir_all(layer.join(name)).expect(name);
        }
        write("b/file", "text");
        write("a/tool", "tool");
        std::fs::hard_link(layer.join("a/tool"), layer.join("b/alias")).expect("link");
        std::os::unix::fs::symlink("/etc/../x", layer.join("link")).expect("symlink");
        std::os::unix::fs::chown(layer.join("b/file"), Some(1000), Some(70_000)).expect("chown");
        std::fs::set_permissions(layer.join("a/tool"), PermissionsExt::from_mode(0o6755)).expect("chmod");
        let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        lsetxattr(layer.join("a/tool"), "security.capability", &capability, XattrFlags::empty())
            .expect("xattr");
        mknodat(CWD, layer.join("b/gone"), FileType::CharacterDevice, Mode::empty(), 0).expect("whiteout");
        lsetxattr(layer.join("b/opaque"), "trusted.overlay.opaque", b"y", XattrFlags::empty())
            .expect("opaque");
        lsetxattr(layer.join("b/file"), "trusted.overlay.origin", b"x", XattrFlags::empty()).expect("origin");
        layer
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}

fn packed(layer: &std::path::Path, options: PackOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packed = pack(layer, options, &mut bytes).expect("pack");
    assert_eq!((packed.diff_id, packed.bytes), (Digest::of(&bytes), bytes.len() as u64));
    bytes
}

fn names(bytes: &[u8]) -> Vec<String> {
    let mut archive = tar::Archive::new(bytes);
    let entries = archive.entries().expect("entries");
    entries
        .map(|entry| String::from_utf8(entry.expect("entry").path_bytes().into_owned()).expect("text"))
        .collect()
}

#[test]
fn members_are_sorted_and_markers_are_back() {
    let Some(place) = Place::new() else { return };
    let bytes = packed(&place.full_layer(), PackOptions::default());
    let expected = [
        "a/",
        "a/tool",
        "b/",
        "b/alias",
        "b/file",
        "b/.wh.gone",
        "b/opaque/",
        "b/opaque/.wh..wh..opq",
        "link",
    ];
    assert_eq!(names(&bytes), expected);
}

#[test]
fn unpacking_and_packing_again_changes_nothing() {
    let Some(place) = Place::new() else { return };
    let bytes = packed(&place.full_layer(), PackOptions::default());
    let again = place.layer("again");
    let unpacked = unpack(&bytes[..], &again).expect("unpack");
    assert_eq!(unpacked.diff_id, Digest::of(&bytes));
    assert_eq!(unpacked.notes, Vec::<String>::new());
    assert_eq!(Digest::of(&packed(&again, PackOptions::default())), Digest::of(&bytes));
}

#[test]
fn times_are_clamped_on_request() {
    let Some(place) = Place::new() else { return };
    let layer = place.layer("clamped");
    std::fs::write(layer.join("file"), "x").expect("write");
    let options = PackOptions { clamp_mtime: Some(86_400) };
    let bytes = packed(&layer, options);
    let mut archive = tar::Archive::new(&bytes[..]);
    let entry = archive.entries().expect("entries").next().expect("one").expect("whole");
    assert_eq!(entry.header().mtime().expect("mtime"), 86_400);
}

#[test]
fn a_layer_without_its_own_content_is_refused() {
    let Some(place) = Place::new() else { return };
    let layer = place.layer("shared");
    std::fs::create_dir(layer.join("moved")).expect("mkdir");
    lsetxattr(layer.join("moved"), "trusted.overlay.redirect", b"/old", XattrFlags::empty()).expect("xattr");
    let error = pack(&layer, PackOptions::default(), io::sink()).expect_err("refused");
    assert!(matches!(error, ImageError::Pack { source: PackFault::Shared { .. }, .. }), "{error}");
}
