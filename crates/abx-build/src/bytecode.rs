//! Python's byte code in a layer, the same whenever the layer was made.
//!
//! A `.pyc` file names the time of its source, and counts while that is true. So both get one time: that of a source
//! that an archive brought along stays, that of one the step has just written becomes [`TIME`].

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use walkdir::WalkDir;

use crate::canvas::{TIME, stamp};

const FOLDER: &str = "__pycache__";
/// Where the time of the source stands, behind the interpreter's number and the flags; the source's size follows.
const TIME_AT: u64 = 8;
/// File systems take their times from a clock that goes in steps.
const TICK: Duration = Duration::from_secs(1);

/// Gives sources of the layer at `upper` that were written from `start` on, and the byte code made of them, one time.
pub(crate) fn settle(upper: &Path, start: SystemTime) -> io::Result<()> {
    let start = start.checked_sub(TICK).unwrap_or(start);
    let mut sources: BTreeMap<PathBuf, Option<Metadata>> = BTreeMap::new();
    for entry in WalkDir::new(upper) {
        let entry = entry?;
        let path = entry.path();
        if !entry.file_type().is_file() || path.parent().and_then(Path::file_name) != Some(OsStr::new(FOLDER))
        {
            continue;
        }
        let Some(source) = source_of(path) else { continue };
        // As it was before any of its byte code was seen.
        let known = sources.entry(source.clone()).or_insert_with(|| written(&source, start));
        let Some(metadata) = known else { continue };
        if is_made_of(path, metadata)? {
            let time = u32::try_from(TIME).unwrap_or_default();
            OpenOptions::new().write(true).open(path)?.write_all_at(&time.to_le_bytes(), TIME_AT)?;
            stamp(&source)?;
        }
    }
    Ok(())
}

/// The attributes of a source that was written from `start` on.
fn written(source: &Path, start: SystemTime) -> Option<Metadata> {
    let metadata = source.symlink_metadata().ok().filter(Metadata::is_file)?;
    metadata.modified().is_ok_and(|time| time >= start).then_some(metadata)
}

/// `a/b.py` for `a/__pycache__/b.cpython-311.opt-1.pyc`.
fn source_of(code: &Path) -> Option<PathBuf> {
    let name = code.file_name()?.to_str()?.strip_suffix(".pyc")?;
    let (name, last) = name.rsplit_once('.')?;
    let name = if last.starts_with("opt-") { name.rsplit_once('.')?.0 } else { name };
    Some(code.parent()?.parent()?.join(format!("{name}.py")))
}

/// Whether the byte code counts by the time and size of its source, and is of this one. Other code has a digest there.
fn is_made_of(code: &Path, source: &Metadata) -> io::Result<bool> {
    let mut head = [0; 16];
    if let Err(error) = File::open(code)?.read_exact(&mut head) {
        return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(false) } else { Err(error) };
    }
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    // Both are cut to 32 bits there.
    Ok(word(4) == 0 && word(8) == source.mtime() as u32 && word(12) == source.size() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn code(flags: u32, source: &Path) -> Vec<u8> {
        let metadata = source.metadata().expect("metadata");
        let words = [0x0a0d_0da7, flags, metadata.mtime() as u32, metadata.size() as u32];
        words.iter().flat_map(|word| word.to_le_bytes()).chain(*b"code").collect()
    }

    #[test]
    fn names_of_sources() {
        let rows = [
            ("p/__pycache__/a.cpython-311.pyc", Some("p/a.py")),
            ("p/__pycache__/a.b.cpython-311.opt-2.pyc", Some("p/a.b.py")),
            ("p/__pycache__/a.pyc", None),
            ("p/__pycache__/a.cpython-311.so", None),
        ];
        for (name, expected) in rows {
            assert_eq!(source_of(Path::new(name)), expected.map(PathBuf::from), "{name}");
        }
    }

    #[test]
    fn what_was_just_written_gets_one_time_and_the_rest_keeps_its_own() {
        let dir = tempfile::tempdir().expect("tempdir");
        let start = SystemTime::now();
        let folder = dir.path().join(FOLDER);
        fs::create_dir(&folder).expect("mkdir");
        let [fresh, old, hashed, stale] = ["fresh", "old", "hashed", "stale"].map(|name| {
            let source = dir.path().join(format!("{name}.py"));
            fs::write(&source, name).expect("write");
            source
        });
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        File::options().write(true).open(&old).expect("open").set_modified(long_ago).expect("time");
        let put = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, bytes).expect("write");
            (path, bytes.to_vec())
        };
        let changed = ["fresh.cpython-311.pyc", "fresh.cpython-311.opt-1.pyc"];
        let changed = changed.map(|name| put(name, &code(0, &fresh)));
        let mut wrong = code(0, &stale);
        wrong[12] += 1;
        let kept = [
            put("old.cpython-311.pyc", &code(0, &old)),
            put("hashed.cpython-311.pyc", &code(1, &hashed)),
            put("stale.cpython-311.pyc", &wrong),
            put("short.cpython-311.pyc", b"x"),
        ];
        settle(dir.path(), start).expect("settle");
        for (path, before) in &changed {
            let after = fs::read(path).expect("read");
            let expected = [&before[..8], &(TIME as u32).to_le_bytes(), &before[12..]].concat();
            assert_eq!(after, expected, "{}", path.display());
        }
        assert!(kept.iter().all(|(path, before)| fs::read(path).expect("read") == *before));
        let time = |path: &Path| path.metadata().expect("metadata").mtime();
        assert_eq!((time(&fresh), time(&old)), (TIME, 1_000_000_000));
        assert!(time(&hashed) > TIME && time(&stale) > TIME);
    }
}
