//! Whole directories as tar streams, in constant memory.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use abx_protocol::private::ArchiveReport;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri, header};
use hyper::body::Incoming;
use tar::{Archive, Builder, EntryType, Header, HeaderMode};

use super::download::named_user;
use super::{owned, path};
use crate::activity::Busy;
use crate::guest::Guest;
use crate::http::error::json;
use crate::http::query::Query;
use crate::http::{Body, HttpError, stream};
use crate::users::User;

/// How many skipped entries are named.
const MAX_NAMED: usize = 100;

/// `GET /abx/v1/archive`: what is in a directory, by names relative to it; of a file, the file by its name.
pub(crate) fn send(
    guest: &Rc<Guest>,
    request: &Request<Incoming>,
    busy: Busy,
) -> Result<Response<Body>, HttpError> {
    let (path, _) = locate(guest, request.uri(), request.headers())?;
    let status = path
        .metadata()
        .map_err(|error| HttpError::io(&format!("path '{}' does not exist", path.display()), &error))?;
    let body = stream::send(move |out| {
        let mut builder = Builder::new(out);
        builder.follow_symlinks(false);
        if status.is_dir() {
            pack(&mut builder, &path, Path::new(""))?;
        } else {
            let name = PathBuf::from(path.file_name().unwrap_or_default());
            append(&mut builder, &path, &name, &status)?;
        }
        builder.finish()
    });
    let Body::Stream(pieces) = body else { return Ok(Response::new(body)) };
    let body = Body::fallible(pieces.map(move |piece| {
        let _ = &busy;
        piece
    }));
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar"));
    Ok(response)
}

fn pack(builder: &mut Builder<&mut dyn Write>, root: &Path, directory: &Path) -> io::Result<()> {
    let mut names: Vec<_> = std::fs::read_dir(root.join(directory))?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    names.sort_unstable();
    for name in names {
        let relative = directory.join(name);
        let path = root.join(&relative);
        let status = match path.symlink_metadata() {
            // It vanished meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            status => status?,
        };
        append(builder, &path, &relative, &status)?;
        if status.is_dir() {
            pack(builder, root, &relative)?;
        }
    }
    Ok(())
}

/// Pipes, sockets and devices are left out.
fn append(
    builder: &mut Builder<&mut dyn Write>,
    path: &Path,
    name: &Path,
    status: &Metadata,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_metadata_in_mode(status, HeaderMode::Complete);
    if status.is_dir() {
        builder.append_data(&mut header, name, io::empty())
    } else if status.is_symlink() {
        header.set_size(0);
        builder.append_link(&mut header, name, path.read_link()?)
    } else if status.is_file() {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        // The header promised a size: a file that grows is cut there, one that shrinks is filled with zeros.
        builder.append_data(&mut header, name, file.chain(io::repeat(0)).take(status.size()))
    } else {
        Ok(())
    }
}

/// `PUT /abx/v1/archive`: lays a tar stream down in a directory, made where absent. What it makes belongs to
/// the user; modes, times and links are the archive's. Nothing lands outside the directory.
pub(crate) async fn receive(
    guest: &Rc<Guest>,
    request: Request<Incoming>,
) -> Result<Response<Body>, HttpError> {
    let (head, body) = request.into_parts();
    let (path, user) = match locate(guest, &head.uri, &head.headers) {
        Ok(located) => located,
        Err(error) => {
            stream::discard(body, stream::COURTESY).await;
            return Err(error);
        }
    };
    let unpack = move |body: &mut dyn Read| unpack(body, &path, &user);
    let report = stream::receive(body, unpack)
        .await
        .and_then(|report| report)
        .map_err(|error| HttpError::io("error unpacking archive", &error))?;
    Ok(json(StatusCode::OK, &report))
}

fn unpack(body: &mut dyn Read, root: &Path, user: &User) -> io::Result<ArchiveReport> {
    owned::create_dirs(root, user)?;
    let root = &root.canonicalize()?;
    let mut report = ArchiveReport::default();
    let mut directories = Vec::new();
    let mut made = HashSet::new();
    let mut archive = Archive::new(body);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        let Some(relative) = inside(&name) else {
            skip(&mut report, &name);
            continue;
        };
        let target = root.join(&relative);
        if !stays_inside(root, &target) {
            skip(&mut report, &name);
            continue;
        }
        make_parents(root, &relative, user, &mut made)?;
        entry.set_preserve_permissions(false);
        entry.set_preserve_mtime(true);
        match entry.header().entry_type() {
            EntryType::Directory => {
                owned::create_dirs(&target, user)?;
                directories.push((target, entry.header().mode()?, entry.header().mtime()?));
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse | EntryType::Symlink => {
                let mode = entry.header().mode()? & 0o7777;
                let is_link = entry.header().entry_type() == EntryType::Symlink;
                report.bytes += entry.size();
                if !entry.unpack_in(root)? {
                    skip(&mut report, &name);
                    continue;
                }
                owned::give(&target, user)?;
                if !is_link {
                    // Giving a file away clears its special bits, so the mode comes after.
                    std::fs::set_permissions(&target, PermissionsExt::from_mode(mode))?;
                }
            }
            EntryType::Link if entry.unpack_in(root)? => {}
            _ => {
                skip(&mut report, &name);
                continue;
            }
        }
        report.entries += 1;
    }
    // A directory without write permission, or its time, would not survive what is put into it.
    for (path, mode, mtime) in directories.into_iter().rev() {
        owned::give(&path, user)?;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode & 0o7777))?;
        let modified = std::time::UNIX_EPOCH + std::time::Duration::from_secs(mtime);
        // Times are a courtesy; a file system may refuse them.
        let _ = File::open(&path).and_then(|directory| directory.set_modified(modified));
    }
    Ok(report)
}

/// Parents that the archive does not list.
fn make_parents(root: &Path, relative: &Path, user: &User, made: &mut HashSet<PathBuf>) -> io::Result<()> {
    let Some(parent) = relative.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return Ok(());
    };
    if made.insert(parent.to_owned()) {
        owned::create_dirs(&root.join(parent), user)?;
    }
    Ok(())
}

/// Whether the links on the way to `target`, as far as it exists, stay below `root`.
fn stays_inside(root: &Path, target: &Path) -> bool {
    let way = target.ancestors().skip(1).find(|ancestor| ancestor.symlink_metadata().is_ok());
    way.is_some_and(|way| way.canonicalize().is_ok_and(|way| way.starts_with(root)))
}

/// The name without `./`; `None` where it is absolute or goes up.
fn inside(name: &Path) -> Option<PathBuf> {
    name.components()
        .filter(|component| *component != Component::CurDir)
        .map(|component| matches!(component, Component::Normal(_)).then_some(component))
        .collect()
}

fn skip(report: &mut ArchiveReport, name: &Path) {
    if report.skipped.len() < MAX_NAMED {
        report.skipped.push(name.to_string_lossy().into_owned());
    }
}

fn locate(guest: &Guest, uri: &Uri, headers: &HeaderMap) -> Result<(PathBuf, User), HttpError> {
    let query = Query::of(uri);
    let user = guest.user(named_user(&query, headers).as_deref())?;
    let workdir = PathBuf::from(&guest.settings.borrow().workdir);
    let path = path::resolve(query.get("path").unwrap_or_default(), &user, &workdir)
        .map_err(|error| HttpError::bad_request(error.to_string()))?;
    Ok((path, user))
}
