//! The calls of `filesystem.Filesystem`.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use abx_protocol::connect::{CallError, ErrorCode};
use abx_protocol::filesystem::{
    EntryInfo, EntryResponse, ListDirRequest, ListDirResponse, MoveRequest, PathRequest, WatchRequest,
    WatcherEvents, WatcherId,
};
use abx_protocol::process::Empty;
use bytes::Bytes;
use futures_util::stream::Stream;

use super::watch::Watch;
use super::watchers;
use super::{entry, owned, path};
use crate::activity::Busy;
use crate::guest::Guest;
use crate::http::rpc::{Call, io_error};
use crate::users::{Accounts, Names, User};

/// Directories are read this deep at most.
const MAX_DEPTH: u32 = 64;

pub(crate) fn stat(guest: &Guest, call: &Call, request: &PathRequest) -> Result<EntryResponse, CallError> {
    let path = locate(guest, &call.user(guest)?, &request.path)?;
    respond(&path)
}

pub(crate) fn make_dir(
    guest: &Guest,
    call: &Call,
    request: &PathRequest,
) -> Result<EntryResponse, CallError> {
    let user = call.user(guest)?;
    let path = locate(guest, &user, &request.path)?;
    let shown = path.display();
    match path.metadata() {
        Ok(status) if status.is_dir() => {
            let message = format!("directory already exists: {shown}");
            return Err(CallError::new(ErrorCode::AlreadyExists, message));
        }
        Ok(_) => {
            let message = format!("path already exists but it is not a directory: {shown}");
            return Err(CallError::new(ErrorCode::InvalidArgument, message));
        }
        Err(_) => {}
    }
    owned::create_dirs(&path, &user).map_err(|error| io_error(&format!("error creating {shown}"), &error))?;
    respond(&path)
}

pub(crate) async fn rename(
    guest: &Guest,
    call: &Call,
    request: &MoveRequest,
) -> Result<EntryResponse, CallError> {
    let user = call.user(guest)?;
    let source = locate(guest, &user, &request.source)?;
    let destination = locate(guest, &user, &request.destination)?;
    let from = source.clone();
    let to = destination.clone();
    let moved = blocking(move || owned::rename(&from, &to, &user));
    moved.await.map_err(|error| io_error(&format!("error moving {}", source.display()), &error))?;
    respond(&destination)
}

pub(crate) async fn list_dir(
    guest: &Guest,
    call: &Call,
    request: ListDirRequest,
) -> Result<ListDirResponse, CallError> {
    let path = locate(guest, &call.user(guest)?, &request.path)?;
    let shown = path.display().to_string();
    match path.metadata() {
        Ok(status) if status.is_dir() => {}
        Ok(_) => {
            let message = format!("path is not a directory: {shown}");
            return Err(CallError::new(ErrorCode::InvalidArgument, message));
        }
        Err(error) => return Err(io_error(&format!("directory not found: {shown}"), &error)),
    }
    let depth = request.depth.clamp(1, MAX_DEPTH);
    let entries = blocking(move || {
        let mut entries = Vec::new();
        list(&path, depth, &Accounts::read().names(), &mut entries).map(|()| entries)
    });
    let entries = entries.await.map_err(|error| io_error(&format!("error reading {shown}"), &error))?;
    Ok(ListDirResponse { entries })
}

/// In the order of names, each directory before what is in it. What vanishes meanwhile is left out.
fn list(directory: &Path, depth: u32, names: &Names, entries: &mut Vec<EntryInfo>) -> io::Result<()> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(directory)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort_unstable();
    for path in paths {
        let Ok(entry) = entry::describe(&path, names) else { continue };
        let descends = depth > 1 && path.symlink_metadata().is_ok_and(|status| status.is_dir());
        entries.push(entry);
        if descends {
            // A directory that cannot be read is listed, its content is not.
            let _ = list(&path, depth - 1, names, entries);
        }
    }
    Ok(())
}

pub(crate) async fn remove(guest: &Guest, call: &Call, request: &PathRequest) -> Result<Empty, CallError> {
    let user = call.user(guest)?;
    let path = locate(guest, &user, &request.path)?;
    let shown = path.display().to_string();
    let removed = blocking(move || owned::remove(&path, &user));
    match removed.await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_error(&format!("error removing {shown}"), &error))
        }
        _ => Ok(Empty {}),
    }
}

pub(crate) fn watch_dir(
    guest: &Guest,
    call: Call,
    request: &WatchRequest,
    busy: Busy,
) -> Result<impl Stream<Item = Bytes> + use<>, CallError> {
    let watch = open_watch(guest, &call, request)?;
    Ok(watchers::stream(call, watch, busy))
}

pub(crate) fn create_watcher(
    guest: &Rc<Guest>,
    call: &Call,
    request: &WatchRequest,
) -> Result<WatcherId, CallError> {
    let watch = open_watch(guest, call, request)?;
    Ok(WatcherId { watcher_id: guest.watchers.add(watch) })
}

pub(crate) fn watcher_events(guest: &Guest, request: &WatcherId) -> Result<WatcherEvents, CallError> {
    let events = guest.watchers.take_events(&request.watcher_id);
    events.map(|events| WatcherEvents { events }).ok_or_else(|| no_watcher(request))
}

pub(crate) fn remove_watcher(guest: &Guest, request: &WatcherId) -> Result<Empty, CallError> {
    guest.watchers.remove(&request.watcher_id).then_some(Empty {}).ok_or_else(|| no_watcher(request))
}

fn no_watcher(request: &WatcherId) -> CallError {
    CallError::new(ErrorCode::NotFound, format!("watcher with id {} not found", request.watcher_id))
}

fn open_watch(guest: &Guest, call: &Call, request: &WatchRequest) -> Result<Watch, CallError> {
    let path = locate(guest, &call.user(guest)?, &request.path)?;
    let shown = path.display();
    match path.metadata() {
        Ok(status) if status.is_dir() => {}
        Ok(_) => {
            let message = format!("path {shown} not a directory");
            return Err(CallError::new(ErrorCode::InvalidArgument, message));
        }
        Err(error) => return Err(io_error(&format!("path {shown} not found"), &error)),
    }
    if !request.allow_network_mounts && is_network_mount(&path) {
        let message = format!("cannot watch path on network filesystem: {shown}");
        return Err(CallError::new(ErrorCode::InvalidArgument, message));
    }
    Watch::open(&path, request.recursive, request.include_entry)
        .map_err(|error| io_error(&format!("error watching {shown}"), &error))
}

/// Changes made by others than this machine are not seen on NFS, CIFS, SMB and FUSE.
fn is_network_mount(path: &Path) -> bool {
    const MAGICS: [u64; 5] = [0x6969, 0xff53_4d42, 0x517b, 0xfe53_4d42, 0x6573_5546];
    rustix::fs::statfs(path).is_ok_and(|status| MAGICS.contains(&(status.f_type as u64 & 0xffff_ffff)))
}

fn locate(guest: &Guest, user: &User, wanted: &str) -> Result<PathBuf, CallError> {
    path::resolve(wanted, user, Path::new(&guest.settings.borrow().workdir))
        .map_err(|error| CallError::new(ErrorCode::InvalidArgument, error.to_string()))
}

fn respond(path: &Path) -> Result<EntryResponse, CallError> {
    let entry = entry::describe(path, &Accounts::read().names())
        .map_err(|error| io_error(&format!("file not found: {}", path.display()), &error))?;
    Ok(EntryResponse { entry: Some(entry) })
}

/// Runs file work that may take long on a thread of its own.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
