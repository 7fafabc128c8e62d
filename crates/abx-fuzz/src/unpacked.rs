//! What archives become on disk.

use std::fs::{self, Permissions};
use std::io::{self, Cursor, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use abx_source::archive::{Caps, extract};
use abx_source::local_archive;
use flate2::Compression;
use flate2::write::GzEncoder;

const CAPS: Caps = Caps { entries: 200, compressed: 1 << 20, expanded: 1 << 20, path: 4096, component: 255 };
const SECRET: &str = "secret";

/// A tar, as it is sent for a repository. Nothing outside of the directory is touched, and no link leads there.
pub fn archive(bytes: &[u8]) {
    let sent = if bytes.starts_with(&[0x1f, 0x8b]) { bytes.to_vec() } else { gzip(bytes) };
    let room = Room::new();
    let result = extract(Cursor::new(sent), &room.inside(), &CAPS);
    room.is_untouched();
    if let Ok(extracted) = result {
        let files = room.holds_plain_files();
        assert!(files <= extracted.files, "{files} files, {} of them counted", extracted.files);
        assert!(files > 0, "it is empty");
    }
}

/// A zip or a tar of this machine, by the same rules.
pub fn zip(bytes: &[u8]) {
    let room = Room::new();
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("written");
    let result = local_archive::extract(&mut file, &room.inside(), &CAPS);
    room.is_untouched();
    if result.is_ok() {
        room.holds_plain_files();
    }
}

/// A layer of an image: nothing outside of the directory is touched.
pub fn layer(bytes: &[u8]) {
    let room = Room::new();
    let result = abx_image::unpack(Cursor::new(bytes), &room.inside());
    room.is_untouched();
    if let Ok(unpacked) = result {
        let least = unpacked.entries.saturating_mul(512);
        assert!(unpacked.bytes >= least, "each member has a header");
    }
}

/// A directory to fill, and one beside it that nothing may touch.
struct Room {
    folder: tempfile::TempDir,
}

impl Room {
    fn new() -> Self {
        let room = Self { folder: tempfile::tempdir().expect("a directory") };
        fs::create_dir(room.inside()).expect("made");
        fs::create_dir(room.outside()).expect("made");
        fs::write(room.outside().join("secret"), SECRET).expect("written");
        fs::set_permissions(room.outside().join("secret"), Permissions::from_mode(0o600)).expect("set");
        room
    }

    fn inside(&self) -> std::path::PathBuf {
        self.folder.path().join("in")
    }

    fn outside(&self) -> std::path::PathBuf {
        self.folder.path().join("out")
    }

    fn is_untouched(&self) {
        assert_eq!(names(self.folder.path()), ["in", "out"], "something is beside the directory");
        assert_eq!(names(&self.outside()), ["secret"], "something is outside of the directory");
        let secret = self.outside().join("secret");
        assert_eq!(fs::read_to_string(&secret).ok().as_deref(), Some(SECRET), "a file outside was written");
        let meta = secret.symlink_metadata().expect("it is there");
        assert_eq!((meta.mode() & 0o7777, meta.nlink()), (0o600, 1), "a file outside was changed");
    }

    /// Asserts that there are files, folders and links that stay inside. Returns the number of files.
    fn holds_plain_files(&self) -> u64 {
        let inside = self.inside().canonicalize().expect("it is there");
        plain_files(&inside, &inside).expect("it can be read")
    }
}

fn plain_files(root: &Path, folder: &Path) -> io::Result<u64> {
    let mut files = 0;
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let meta = path.symlink_metadata()?;
        if meta.is_symlink() {
            // One that leads nowhere is harmless.
            let target = path.canonicalize().unwrap_or_else(|_| root.to_owned());
            assert!(target.starts_with(root), "{} leads to {}", path.display(), target.display());
            assert!(fs::read_link(&path)?.is_relative(), "{} is absolute", path.display());
            continue;
        }
        assert!(meta.is_dir() || meta.is_file(), "{} is neither file nor folder", path.display());
        let modes: &[u32] = if meta.is_dir() { &[0o755] } else { &[0o755, 0o644] };
        assert!(modes.contains(&(meta.mode() & 0o7777)), "{} has mode {:o}", path.display(), meta.mode());
        files += if meta.is_dir() { plain_files(root, &path)? } else { 1 };
    }
    Ok(files)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("it is there");
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("written to memory")
}
