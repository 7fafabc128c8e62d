//! Whole directories as tar streams, in constant memory.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abx_protocol::private::ArchiveReport;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri, header};
use hyper::body::Incoming;
use tar::{Archive, Builder, Entry, EntryType, Header, HeaderMode};

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
/// the user; modes, times and links are the archive's. Nothing lands outside the directory, nor where the user may not
/// write and root has not pointed to.
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
    let mut unpacking =
        Unpacking { root, within: root.canonicalize()?, user, made: HashSet::new(), directories: Vec::new() };
    let mut report = ArchiveReport::default();
    let mut archive = Archive::new(body);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        if unpacking.lay_down(&mut entry, &name)? {
            report.entries += 1;
            report.bytes += if entry.header().entry_type().is_file() { entry.size() } else { 0 };
        } else {
            skip(&mut report, &name);
        }
    }
    unpacking.finish()?;
    Ok(report)
}

/// An archive on its way down.
struct Unpacking<'a> {
    root: &'a Path,
    /// The root without links.
    within: PathBuf,
    user: &'a User,
    made: HashSet<PathBuf>,
    /// With mode and time.
    directories: Vec<(PathBuf, u32, SystemTime)>,
}

impl Unpacking<'_> {
    /// Whether the entry is there now, and not left out.
    fn lay_down(&mut self, entry: &mut Entry<'_, impl Read>, name: &Path) -> io::Result<bool> {
        let Some(relative) = inside(name) else { return Ok(false) };
        let target = self.root.join(&relative);
        if !self.stays_inside(&target) {
            return Ok(false);
        }
        make_parents(self.root, &relative, self.user, &mut self.made)?;
        let (mode, modified) = (entry.header().mode()? & 0o7777, modified(entry.header())?);
        match entry.header().entry_type() {
            EntryType::Directory => {
                owned::create_dirs(&target, self.user)?;
                self.directories.push((target, mode, modified));
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let file = owned::replace_file(&target, self.user)?;
                fill(entry, &file)?;
                file.set_permissions(PermissionsExt::from_mode(mode))?;
                // Times are a courtesy; a file system may refuse them.
                let _ = file.set_modified(modified);
            }
            EntryType::Symlink => {
                let Some(link) = entry.link_name()? else { return Ok(false) };
                owned::replace_link(&target, &link, self.user)?;
            }
            EntryType::Link => {
                let named = entry.link_name()?.and_then(|link| inside(&link));
                let Some(of) = named.map(|link| self.root.join(link)).filter(|of| self.stays_inside(of))
                else {
                    return Ok(false);
                };
                owned::replace_name(&target, &of, self.user)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the links on the way to `target`, as far as it exists, stay below the root.
    fn stays_inside(&self, target: &Path) -> bool {
        let way = target.ancestors().skip(1).find(|ancestor| ancestor.symlink_metadata().is_ok());
        way.is_some_and(|way| way.canonicalize().is_ok_and(|way| way.starts_with(&self.within)))
    }

    /// A directory without write permission, or its time, would not survive what is put into it.
    fn finish(self) -> io::Result<()> {
        self.directories
            .into_iter()
            .rev()
            .try_for_each(|(path, mode, modified)| owned::finish_dir(&path, mode, modified, self.user))
    }
}

fn fill(entry: &mut Entry<'_, impl Read>, mut file: &File) -> io::Result<()> {
    let size = entry.size();
    if io::copy(entry, &mut file)? < size {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends within a file"));
    }
    Ok(())
}

fn modified(header: &Header) -> io::Result<SystemTime> {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(header.mtime()?));
    Ok(time.unwrap_or(UNIX_EPOCH))
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
