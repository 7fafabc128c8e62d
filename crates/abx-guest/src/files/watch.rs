//! Changes below a directory, through inotify.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use abx_protocol::filesystem::{EventType, FilesystemEvent};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

use super::entry;
use crate::channel;
use crate::users::Accounts;

const WANTED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ONLYDIR);

/// A watched directory.
pub(crate) struct Watch {
    descriptor: AsyncFd<OwnedFd>,
    root: PathBuf,
    /// Watched directories by inotify's number, relative to the root.
    directories: HashMap<i32, PathBuf>,
    recursive: bool,
    include_entry: bool,
}

impl Watch {
    /// Watches from now on. Must be called inside the runtime.
    pub(crate) fn open(root: &Path, recursive: bool, include_entry: bool) -> io::Result<Self> {
        let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut watch = Self {
            descriptor: channel::register(descriptor)?,
            root: root.to_owned(),
            directories: HashMap::new(),
            recursive,
            include_entry,
        };
        let extra = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let number = inotify::add_watch(watch.descriptor.get_ref(), root, WANTED | extra)?;
        watch.directories.insert(number, PathBuf::new());
        if recursive {
            watch.descend(Path::new(""), &mut Vec::new());
        }
        Ok(watch)
    }

    /// Waits until there is something to take.
    pub(crate) async fn changed(&self) -> io::Result<()> {
        let mut ready = self.descriptor.readable().await?;
        ready.clear_ready();
        Ok(())
    }

    /// Everything that happened up to now and was not taken yet.
    pub(crate) fn take(&mut self) -> Vec<FilesystemEvent> {
        let mut raw = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(self.descriptor.get_ref(), &mut buffer);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| PathBuf::from(os_string(name.to_bytes())));
            raw.push((event.wd(), event.events(), name));
        }
        let mut changes = Vec::new();
        for (number, flags, name) in raw {
            self.translate(number, flags, name, &mut changes);
        }
        changes.into_iter().map(|(kind, path)| self.event(kind, &path)).collect()
    }

    fn translate(
        &mut self,
        number: i32,
        flags: ReadFlags,
        name: Option<PathBuf>,
        changes: &mut Vec<(EventType, PathBuf)>,
    ) {
        if flags.contains(ReadFlags::IGNORED) {
            self.directories.remove(&number);
            return;
        }
        let Some(directory) = self.directories.get(&number) else { return };
        let path = name.map_or_else(|| directory.clone(), |name| directory.join(name));
        let Some(kind) = kind(flags) else { return };
        changes.push((kind, path.clone()));
        if self.recursive && kind == EventType::Create && flags.contains(ReadFlags::ISDIR) {
            self.add(&path);
            // What came into a new directory before it was watched would be missed otherwise.
            self.descend(&path, changes);
        }
    }

    fn add(&mut self, path: &Path) {
        // A directory that vanished again needs no watch.
        if let Ok(number) = inotify::add_watch(self.descriptor.get_ref(), self.root.join(path), WANTED) {
            self.directories.insert(number, path.to_owned());
        }
    }

    /// Watches every directory below, and reports what is there.
    fn descend(&mut self, directory: &Path, found: &mut Vec<(EventType, PathBuf)>) {
        let Ok(entries) = std::fs::read_dir(self.root.join(directory)) else { return };
        for entry in entries.flatten() {
            let path = directory.join(entry.file_name());
            found.push((EventType::Create, path.clone()));
            let Ok(status) = entry.metadata() else { continue };
            if status.is_dir() {
                self.add(&path);
                self.descend(&path, found);
            } else if status.is_file() && status.len() > 0 {
                found.push((EventType::Write, path));
            }
        }
    }

    fn event(&self, kind: EventType, path: &Path) -> FilesystemEvent {
        let exists = matches!(kind, EventType::Create | EventType::Write | EventType::Chmod);
        let entry = (self.include_entry && exists)
            .then(|| entry::describe(&self.root.join(path), &Accounts::read().names()).ok())
            .flatten();
        let name = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        FilesystemEvent { name: name.to_string_lossy().into_owned(), r#type: kind.into(), entry }
    }
}

fn kind(flags: ReadFlags) -> Option<EventType> {
    let table = [
        (ReadFlags::CREATE, EventType::Create),
        (ReadFlags::MOVED_TO, EventType::Create),
        (ReadFlags::MODIFY, EventType::Write),
        (ReadFlags::DELETE, EventType::Remove),
        (ReadFlags::DELETE_SELF, EventType::Remove),
        (ReadFlags::MOVED_FROM, EventType::Rename),
        (ReadFlags::MOVE_SELF, EventType::Rename),
        (ReadFlags::ATTRIB, EventType::Chmod),
    ];
    table.into_iter().find(|(flag, _)| flags.contains(*flag)).map(|(_, kind)| kind)
}

fn os_string(bytes: &[u8]) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}
