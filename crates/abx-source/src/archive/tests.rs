//! Archives of somebody else, most of them made to do harm.

mod bounds;
mod contained;
mod forms;
mod harm;
mod refused;

use std::fs;
use std::io::{Cursor, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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

    fn device(self, path: &str) -> Self {
        self.member(EntryType::Char, path.as_bytes(), b"", 0o666, b"")
    }

    /// What a PAX header says about the next member.
    fn pax(self, key: &str, value: &str) -> Self {
        self.records(EntryType::XHeader, key, value)
    }

    fn records(self, kind: EntryType, key: &str, value: &str) -> Self {
        let rest = format!(" {key}={value}\n");
        let length = (1..=7)
            .map(|digits| rest.len() + digits)
            .find(|length| length.to_string().len() + rest.len() == *length);
        let record = format!("{}{rest}", length.expect("a length"));
        self.member(kind, b"pax", b"", 0o644, record.as_bytes())
    }

    /// A name longer than a header has room for, as GNU tar writes it.
    fn long_name(self, path: &str) -> Self {
        self.member(EntryType::GNULongName, b"n", b"", 0, path.as_bytes())
    }

    fn gzip(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 1024, 0);
        gzip(&self.bytes)
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("gzip");
    encoder.finish().expect("gzip")
}

/// A directory to fill, and one beside it that nothing may touch.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("tempdir");
        let place = Self { dir };
        fs::create_dir(place.root()).expect("mkdir");
        fs::create_dir_all(place.outside().join("d")).expect("mkdir");
        fs::write(place.outside().join("secret"), "secret").expect("write");
        fs::set_permissions(place.outside().join("secret"), PermissionsExt::from_mode(0o600)).expect("chmod");
        place
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    /// Extracts, and sees to it that nothing else has changed.
    fn extract(&self, archive: &[u8], caps: &Caps) -> Result<Extracted, String> {
        let before = self.surroundings();
        let result = extract(Cursor::new(archive.to_vec()), &self.root(), caps);
        assert_eq!(self.surroundings(), before, "nothing outside of the directory is touched");
        result.map_err(|fault| format!("{} {fault}", fault.code()))
    }

    fn surroundings(&self) -> Vec<String> {
        let mut beside = picture(&self.outside());
        let link_count = std::os::unix::fs::MetadataExt::nlink;
        let secret = self.outside().join("secret").metadata().expect("secret");
        beside.push(format!("{} links, changed {:?}", link_count(&secret), secret.modified().ok()));
        let names = fs::read_dir(self.dir.path()).expect("dir").flatten();
        let mut names: Vec<_> = names.map(|entry| format!("{:?}", entry.file_name())).collect();
        names.sort();
        beside.extend(names);
        beside
    }
}

/// What became of an archive: `CODE message`, or what was extracted and a picture of the directory.
fn outcome(archive: &[u8], caps: &Caps) -> Result<(Extracted, Vec<String>), String> {
    let place = Place::new();
    let extracted = place.extract(archive, caps)?;
    Ok((extracted, picture(&place.root())))
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
