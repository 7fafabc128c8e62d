//! What files of a context contain, by what the file system says of them: a file nobody has touched is not read again.
//!
//! ```text
//! cache/contents/<digest of the context's place>    a line for each file: what it is known by, and its digest
//! ```
//!
//! A file is known by its inode, size and times. The time of its last change is the kernel's, and no program sets it
//! back; a file that was changed a moment ago, and could be again without it, is not remembered.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abx_core::Home;
use abx_core::fs::write_atomic;

use crate::key::Hasher;

/// How long a file must have been left alone: more than the step of any file system's clock.
const REST: Duration = Duration::from_secs(2);
/// With more files than this, those that the last build has not met are forgotten.
const MOST: usize = 200_000;
/// Numbers in a [`Stamp`].
const NUMBERS: usize = 7;

/// What a file is known by: device, inode, size, and the times of its last modification and change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::dockerfile) struct Stamp([i64; NUMBERS]);

/// The digests of the files of one context.
pub(in crate::dockerfile) struct Contents {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// With whether this build has met it.
    digests: HashMap<Stamp, (String, bool)>,
    is_read: bool,
    has_news: bool,
}

impl Stamp {
    /// `None` for a file that was changed too short a time ago to be remembered.
    pub(super) fn of(metadata: &Metadata) -> Option<Self> {
        let changed =
            Duration::new(metadata.ctime().try_into().ok()?, metadata.ctime_nsec().try_into().ok()?);
        let rest = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.checked_sub(changed)?;
        let numbers = [
            metadata.dev().cast_signed(),
            metadata.ino().cast_signed(),
            metadata.size().cast_signed(),
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.ctime(),
            metadata.ctime_nsec(),
        ];
        (rest > REST).then_some(Self(numbers))
    }
}

impl Contents {
    /// Of the context at `context`. With `is_new` nothing of earlier builds counts.
    pub(in crate::dockerfile) fn new(home: &Home, context: &Path, is_new: bool) -> Self {
        let name = Hasher::new("contents").field(context.as_os_str().as_encoded_bytes()).hex();
        let known = Known { is_read: is_new, ..Known::default() };
        Self { path: home.cache("contents").join(name), known: Mutex::new(known) }
    }

    /// The digest of a file, in hex, where it is known.
    pub(super) fn find(&self, stamp: &Stamp) -> Option<String> {
        let mut known = self.lock();
        if !known.is_read {
            known.is_read = true;
            known.digests = read(&self.path);
        }
        let (digest, is_met) = known.digests.get_mut(stamp)?;
        *is_met = true;
        Some(digest.clone())
    }

    pub(super) fn add(&self, stamp: Stamp, digest: &str) {
        let mut known = self.lock();
        known.has_news = true;
        known.digests.insert(stamp, (digest.to_owned(), true));
    }

    /// Writes down what is new; where that cannot be, files are read again next time.
    pub(in crate::dockerfile) fn save(&self) {
        let mut known = self.lock();
        if !known.has_news {
            return;
        }
        known.has_news = false;
        if known.digests.len() > MOST {
            known.digests.retain(|_, (_, is_met)| *is_met);
        }
        let mut text = Vec::with_capacity(known.digests.len() * 160);
        for (Stamp(numbers), (digest, _)) in &known.digests {
            for number in numbers {
                let _ = write!(text, "{number} ");
            }
            text.extend(digest.bytes().chain([b'\n']));
        }
        let _ = write_atomic(&self.path, &text);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is written at `path`; lines that are damaged are left out.
fn read(path: &Path) -> HashMap<Stamp, (String, bool)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| entry(line).map(|(stamp, digest)| (stamp, (digest, false)))).collect()
}

fn entry(line: &str) -> Option<(Stamp, String)> {
    let mut words = line.split(' ');
    let mut numbers = [0; NUMBERS];
    for number in &mut numbers {
        *number = words.next()?.parse().ok()?;
    }
    let digest = words.next().filter(|digest| digest.len() == 64)?;
    words.next().is_none().then(|| (Stamp(numbers), digest.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_known_again_and_damage_is_not() {
        let dir = tempfile::tempdir().expect("tempdir");
        let home = Home::new(dir.path());
        let stamp = Stamp([1, 2, 3, 4, 5, 6, 7]);
        let digest = "a".repeat(64);
        let contents = Contents::new(&home, Path::new("/here"), false);
        assert_eq!(contents.find(&stamp), None);
        contents.add(stamp, &digest);
        contents.save();
        let again = Contents::new(&home, Path::new("/here"), false);
        assert_eq!(again.find(&stamp), Some(digest.clone()));
        assert_eq!(again.find(&Stamp([1, 2, 3, 4, 5, 6, 8])), None);
        assert_eq!(Contents::new(&home, Path::new("/there"), false).find(&stamp), None);
        assert_eq!(Contents::new(&home, Path::new("/here"), true).find(&stamp), None);
        for line in ["", "1 2 3 4 5 6 7", "1 2 3 4 5 6 7 short", &format!("1 2 3 4 5 6 x {digest}")] {
            assert_eq!(entry(line), None, "{line}");
        }
    }

    #[test]
    fn a_file_changed_just_now_is_not_remembered() {
        let file = tempfile::NamedTempFile::new().expect("file");
        assert_eq!(Stamp::of(&file.as_file().metadata().expect("metadata")), None);
        assert!(Stamp::of(&std::fs::metadata("/proc/self/exe").expect("metadata")).is_some());
    }
}
