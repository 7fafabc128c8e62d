//! One package's files into the root.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use md5::{Digest as _, Md5};
use tar::{Entry, EntryType};

use crate::deb::Deb;
use crate::digest::hex;
use crate::error::DebianError;
use crate::rooted::{self, Attributes, Rooted};
use crate::slim::PathRules;

/// What unpacking a package leaves to do: its part of dpkg's database, and its directories' attributes.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(crate) name: String,
    /// The paragraph that describes it.
    pub(crate) control: String,
    /// The other control files (`postinst`, `md5sums`, …) by name.
    pub(crate) control_files: Vec<ControlFile>,
    /// Every path it holds, those left out included, as dpkg lists them.
    pub(crate) paths: Vec<String>,
    /// Configuration files it brought, with their MD5, which is what dpkg compares.
    pub(crate) conffiles: Vec<(String, String)>,
    pub(crate) directories: Vec<(PathBuf, Attributes)>,
}

#[derive(Debug)]
pub(crate) struct ControlFile {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
    pub(crate) executable: bool,
}

/// No control file of a base system comes near this.
const CONTROL_CAP: u64 = 16 << 20;

/// Directories kept open; bounds the descriptors of all packages that are unpacked at once.
const OPEN_DIRECTORIES: usize = 64;

const COPY_BUFFER: usize = 128 << 10;

/// Writes the files of a package below `root` that the rules do not leave out, and reads its control files.
///
/// Safe beside other packages being unpacked into the same root. Directories get their attributes later (see
/// [`settle_directories`]), so that the outcome does not depend on which package comes first.
pub(crate) fn unpack(
    root: &Rooted,
    name: &str,
    bytes: &[u8],
    rules: &PathRules,
) -> Result<Unpacked, DebianError> {
    let damaged = |reason: String| DebianError::Package { package: name.to_owned(), reason };
    let deb = Deb::parse(bytes).map_err(|reason| damaged(reason.to_owned()))?;
    let mut unpacked = Unpacked {
        name: name.to_owned(),
        control: String::new(),
        control_files: Vec::new(),
        paths: Vec::new(),
        conffiles: Vec::new(),
        directories: Vec::new(),
    };
    read_control(&deb, &mut unpacked).map_err(|error| damaged(error.to_string()))?;
    let conffiles = conffile_names(&unpacked);
    let mut unpacker =
        Unpacker { root, rules, conffiles, open: HashMap::new(), buffer: vec![0; COPY_BUFFER], unpacked };
    let mut archive = deb.data().map_err(|error| damaged(error.to_string()))?;
    for entry in archive.entries().map_err(|error| damaged(error.to_string()))? {
        let mut entry = entry.map_err(|error| damaged(error.to_string()))?;
        let path = entry.path_bytes().into_owned();
        let shown = String::from_utf8_lossy(&path).into_owned();
        unpacker.entry(&mut entry, &path).map_err(|fault| match fault {
            Fault::Damaged(reason) => damaged(format!("{shown}: {reason}")),
            Fault::Io(source) => DebianError::Unpack { package: name.to_owned(), path: shown, source },
        })?;
    }
    Ok(unpacker.unpacked)
}

/// Gives directories their attributes: where several packages hold one, the first of them by the order of
/// `packages` decides, as the first one to be installed does in dpkg.
pub(crate) fn settle_directories(root: &Rooted, packages: &[Unpacked]) -> Result<(), DebianError> {
    let mut seen = HashSet::new();
    for package in packages {
        for (path, attributes) in &package.directories {
            if !seen.insert(path) || is_default(attributes) {
                continue;
            }
            root.set_directory(path, *attributes).map_err(|source| DebianError::Unpack {
                package: package.name.clone(),
                path: path.display().to_string(),
                source,
            })?;
        }
    }
    Ok(())
}

/// What every directory has from the start. Times of directories are set at the very end.
fn is_default(attributes: &Attributes) -> bool {
    (attributes.uid, attributes.gid, attributes.mode) == (0, 0, 0o755)
}

/// Why an entry was not unpacked.
enum Fault {
    Damaged(&'static str),
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rustix::io::Errno> for Fault {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Io(error.into())
    }
}

struct Unpacker<'a> {
    root: &'a Rooted,
    rules: &'a PathRules,
    conffiles: HashSet<PathBuf>,
    open: HashMap<PathBuf, Rc<OwnedFd>>,
    buffer: Vec<u8>,
    unpacked: Unpacked,
}

impl Unpacker<'_> {
    fn entry<R: Read>(&mut self, entry: &mut Entry<'_, R>, path: &[u8]) -> Result<(), Fault> {
        let path = as_path(path).ok_or(Fault::Damaged("a path that leaves the root"))?;
        let Ok(text) = std::str::from_utf8(path.as_os_str().as_bytes()) else {
            return Err(Fault::Damaged("a path that is not UTF-8"));
        };
        if text.contains('\n') {
            return Err(Fault::Damaged("a path with a line break"));
        }
        let absolute = format!("/{text}");
        let kind = entry.header().entry_type();
        let may_hold_files = matches!(kind, EntryType::Directory | EntryType::Symlink);
        let excluded = self.rules.excludes(absolute.as_bytes(), may_hold_files);
        self.unpacked.paths.push(if text.is_empty() { "/.".to_owned() } else { absolute });
        if excluded {
            return Ok(());
        }
        let attributes = attributes(entry.header())?;
        let Some(name) = path.file_name().map(OsString::from) else {
            return match kind {
                EntryType::Directory => {
                    self.unpacked.directories.push((path, attributes));
                    Ok(())
                }
                _ => Err(Fault::Damaged("the root is no directory")),
            };
        };
        let parent = self.parent(&path)?;
        match kind {
            EntryType::Directory => {
                rooted::make_directory(&parent, &name)?;
                self.unpacked.directories.push((path, attributes));
            }
            EntryType::Regular | EntryType::Continuous => {
                let file = rooted::create_file(&parent, &name)?;
                self.copy(entry, &file, &path)?;
                rooted::set_file(&file, attributes)?;
            }
            EntryType::Symlink => {
                let target = entry.link_name_bytes().ok_or(Fault::Damaged("a link without a target"))?;
                rooted::symlink_at(&target, &parent, &name)?;
                rooted::set_link(&*parent, &name, attributes)?;
            }
            EntryType::Link => {
                let target = entry.link_name_bytes().and_then(|target| as_path(&target));
                let target = target.ok_or(Fault::Damaged("a hard link that leaves the root"))?;
                let target_name = target.file_name().ok_or(Fault::Damaged("a hard link to the root"))?;
                let target_parent = self.parent(&target)?;
                let flags = rustix::fs::AtFlags::empty();
                rustix::fs::linkat(&*target_parent, target_name, &*parent, &name, flags)?;
            }
            _ => return Err(Fault::Damaged("a device or the like")),
        }
        Ok(())
    }

    /// Copies a file's content; of a configuration file also the digest.
    fn copy(&mut self, content: &mut impl Read, mut file: &File, path: &Path) -> io::Result<()> {
        let mut digest = self.conffiles.contains(path).then(Md5::new);
        loop {
            let length = match content.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            file.write_all(&self.buffer[..length])?;
            if let Some(digest) = &mut digest {
                digest.update(&self.buffer[..length]);
            }
        }
        if let Some(digest) = digest {
            self.unpacked.conffiles.push((format!("/{}", path.display()), hex(&digest.finalize())));
        }
        Ok(())
    }

    fn parent(&mut self, path: &Path) -> io::Result<Rc<OwnedFd>> {
        let parent = path.parent().unwrap_or(Path::new(""));
        if let Some(open) = self.open.get(parent) {
            return Ok(Rc::clone(open));
        }
        let directory = Rc::new(self.root.directory(parent)?);
        if self.open.len() >= OPEN_DIRECTORIES {
            self.open.clear();
        }
        self.open.insert(parent.to_owned(), Rc::clone(&directory));
        Ok(directory)
    }
}

fn as_path(bytes: &[u8]) -> Option<PathBuf> {
    rooted::relative(Path::new(std::ffi::OsStr::from_bytes(bytes)))
}

fn attributes(header: &tar::Header) -> Result<Attributes, Fault> {
    let id =
        |value: io::Result<u64>| value.ok().and_then(|id| u32::try_from(id).ok()).filter(|id| *id < 65536);
    let (uid, gid) = (id(header.uid()), id(header.gid()));
    let (Some(uid), Some(gid), Ok(mode)) = (uid, gid, header.mode()) else {
        return Err(Fault::Damaged("its owner or mode cannot be read"));
    };
    Ok(Attributes { uid, gid, mode: mode & 0o7777, mtime: header.mtime().unwrap_or(0) })
}

fn read_control(deb: &Deb<'_>, unpacked: &mut Unpacked) -> io::Result<()> {
    for entry in deb.control()?.entries()? {
        let entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let Some(name) = as_path(&entry.path_bytes()).and_then(|path| path.to_str().map(str::to_owned))
        else {
            continue;
        };
        let executable = entry.header().mode()? & 0o111 != 0;
        let mut content = Vec::new();
        entry.take(CONTROL_CAP).read_to_end(&mut content)?;
        if name == "control" {
            unpacked.control = String::from_utf8_lossy(&content).trim_end().to_owned();
        } else if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            unpacked.control_files.push(ControlFile { name, content, executable });
        }
    }
    Ok(())
}

fn conffile_names(unpacked: &Unpacked) -> HashSet<PathBuf> {
    let files = unpacked.control_files.iter().filter(|file| file.name == "conffiles");
    files
        .flat_map(|file| file.content.split(|byte| *byte == b'\n'))
        .filter(|line| line.starts_with(b"/"))
        .filter_map(as_path)
        .collect()
}
