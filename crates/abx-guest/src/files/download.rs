//! `GET /files`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::rc::Rc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream::StreamExt;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;

use super::path;
use crate::activity::Busy;
use crate::guest::Guest;
use crate::http::query::Query;
use crate::http::stream::{self, PIECE};
use crate::http::{Body, HttpError, access};

/// Content up to this size is read at once.
const SMALL: u64 = 64 << 10;

pub(crate) async fn download(
    guest: &Rc<Guest>,
    request: &Request<Incoming>,
    busy: Busy,
) -> Result<Response<Body>, HttpError> {
    let query = Query::of(request.uri());
    let user = guest.user(named_user(&query, request.headers()).as_deref())?;
    let workdir = guest.settings.borrow().workdir.clone();
    let path = path::resolve(query.get("path").unwrap_or_default(), &user, Path::new(&workdir))
        .map_err(|error| HttpError::bad_request(error.to_string()))?;
    let content = Content::open(&path)?;
    let mut response = respond(content, request.headers(), busy)?;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Ok(value) = HeaderValue::from_str(&disposition(&path)) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// The user of a file transfer: the parameter, else the `Authorization` header.
pub(crate) fn named_user(query: &Query, headers: &HeaderMap) -> Option<String> {
    query.get("username").map(str::to_owned).or_else(|| access::basic_user(headers))
}

/// A file to send.
struct Content {
    file: File,
    /// Bytes read ahead to learn the size of what reports none, such as a file of /proc.
    ahead: Vec<u8>,
    /// `None` where only reading tells.
    size: Option<u64>,
}

impl Content {
    fn open(path: &Path) -> Result<Self, HttpError> {
        let shown = path.display();
        let status = path.metadata().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                HttpError::new(StatusCode::NOT_FOUND, format!("path '{shown}' does not exist"))
            }
            _ => HttpError::io(&format!("error checking if path exists '{shown}'"), &error),
        })?;
        if status.is_dir() {
            return Err(HttpError::bad_request(format!("path '{shown}' is a directory")));
        }
        if !status.is_file() {
            return Err(HttpError::bad_request(format!("path '{shown}' is not a regular file")));
        }
        let failed = |error: io::Error| HttpError::io(&format!("error opening file '{shown}'"), &error);
        let mut file = File::open(path).map_err(failed)?;
        let mut ahead = Vec::new();
        let mut size = Some(status.len());
        if status.len() == 0 {
            (&mut file).take(SMALL).read_to_end(&mut ahead).map_err(failed)?;
            size = ((ahead.len() as u64) < SMALL).then_some(ahead.len() as u64);
        }
        Ok(Self { file, ahead, size })
    }
}

fn respond(content: Content, headers: &HeaderMap, busy: Busy) -> Result<Response<Body>, HttpError> {
    let ranges = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    if let (Some(range), Some(size), true) = (ranges, content.size, content.ahead.is_empty()) {
        match parse_range(range, size) {
            Range::Part { first, length } => return partial(content.file, first, length, size, busy),
            Range::Unsatisfiable => return Ok(unsatisfiable(size)),
            Range::Ignored => {}
        }
    }
    if wants_gzip(headers) {
        return Ok(compressed(content, busy));
    }
    whole(content, busy)
}

fn whole(content: Content, busy: Busy) -> Result<Response<Body>, HttpError> {
    let Content { mut file, ahead, size } = content;
    let body = match size {
        Some(size) if !ahead.is_empty() || size == 0 => Bytes::from(ahead).into(),
        Some(size) if size <= SMALL => read_small(&mut file, size)?,
        Some(size) => guarded(stream::send(move |out| copy_exactly(&mut file, size, out)), busy),
        None => {
            let send = move |out: &mut dyn Write| io::copy(&mut ahead.chain(file), out).map(drop);
            guarded(stream::send(send), busy)
        }
    };
    let mut response = Response::new(body);
    if let Some(size) = size {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(size));
        response.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    }
    Ok(response)
}

fn partial(
    mut file: File,
    first: u64,
    length: u64,
    size: u64,
    busy: Busy,
) -> Result<Response<Body>, HttpError> {
    file.seek(SeekFrom::Start(first)).map_err(|error| HttpError::io("error reading file", &error))?;
    let body = if length <= SMALL {
        read_small(&mut file, length)?
    } else {
        guarded(stream::send(move |out| copy_exactly(&mut file, length, out)), busy)
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    let range = format!("bytes {first}-{}/{size}", first + length - 1);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_RANGE, HeaderValue::try_from(range).expect("digits"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    Ok(response)
}

fn unsatisfiable(size: u64) -> Response<Body> {
    let mut response = HttpError::new(StatusCode::RANGE_NOT_SATISFIABLE, "range not satisfiable").response();
    let range = HeaderValue::try_from(format!("bytes */{size}")).expect("digits");
    response.headers_mut().insert(header::CONTENT_RANGE, range);
    response
}

fn compressed(content: Content, busy: Busy) -> Response<Body> {
    let send = move |out: &mut dyn Write| {
        let mut encoder = GzEncoder::new(out, Compression::fast());
        io::copy(&mut content.ahead.chain(content.file), &mut encoder)?;
        encoder.finish().map(drop)
    };
    let mut response = Response::new(guarded(stream::send(send), busy));
    response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response
}

/// The call lasts until its body is sent or dropped.
fn guarded(body: Body, busy: Busy) -> Body {
    match body {
        Body::Whole(_) => body,
        Body::Stream(stream) => Body::fallible(stream.map(move |item| {
            let _ = &busy;
            item
        })),
    }
}

/// A file that shrank meanwhile is padded by nobody: the connection breaks, as the length was promised.
fn copy_exactly(file: &mut File, length: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut left = length;
    let mut piece = vec![0; PIECE.min(usize::try_from(length).unwrap_or(PIECE))];
    while left > 0 {
        let wanted = usize::try_from(left).map_or(piece.len(), |left| left.min(piece.len()));
        match file.read(&mut piece[..wanted])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                out.write_all(&piece[..read])?;
                left -= read as u64;
            }
        }
    }
    Ok(())
}

fn read_small(file: &mut File, length: u64) -> Result<Body, HttpError> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read_exact(&mut bytes).map_err(|error| HttpError::io("error reading file", &error))?;
    Ok(Bytes::from(bytes).into())
}

/// Only a caller that names gzip alone means it: HTTP libraries name it among others by default, and then
/// speed and a known length are worth more than size on a local socket.
fn wants_gzip(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT_ENCODING).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"gzip"))
}

#[derive(Debug, PartialEq, Eq)]
enum Range {
    Part {
        first: u64,
        length: u64,
    },
    Unsatisfiable,
    /// Damaged, or several ranges: the whole content answers that.
    Ignored,
}

fn parse_range(text: &str, size: u64) -> Range {
    let Some((first, last)) = text.strip_prefix("bytes=").and_then(|range| range.split_once('-')) else {
        return Range::Ignored;
    };
    match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
        (Ok(first), Ok(last)) if first > last => Range::Ignored,
        (Ok(first), _) if first >= size && (last.is_empty() || last.trim().parse::<u64>().is_ok()) => {
            Range::Unsatisfiable
        }
        (Ok(first), Ok(last)) => Range::Part { first, length: last.min(size - 1) - first + 1 },
        (Ok(first), Err(_)) if last.is_empty() => Range::Part { first, length: size - first },
        (Err(_), Ok(last)) if first.is_empty() && (last == 0 || size == 0) => Range::Unsatisfiable,
        (Err(_), Ok(last)) if first.is_empty() => {
            Range::Part { first: size.saturating_sub(last), length: last.min(size) }
        }
        _ => Range::Ignored,
    }
}

fn disposition(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte);
    if name.bytes().all(plain) {
        return format!("inline; filename={name}");
    }
    let encoded: String = name
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    format!("inline; filename*=utf-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_mean_what_http_says() {
        let part = |first, length| Range::Part { first, length };
        let rows = [
            ("bytes=0-0", part(0, 1)),
            ("bytes=2-", part(2, 8)),
            ("bytes=2-99", part(2, 8)),
            ("bytes=-3", part(7, 3)),
            ("bytes=-99", part(0, 10)),
            ("bytes=10-", Range::Unsatisfiable),
            ("bytes=10-12", Range::Unsatisfiable),
            ("bytes=-0", Range::Unsatisfiable),
            ("bytes=5-2", Range::Ignored),
            ("bytes=0-1,3-4", Range::Ignored),
            ("lines=0-1", Range::Ignored),
            ("bytes=-", Range::Ignored),
            ("bytes=x-", Range::Ignored),
        ];
        for (text, expect) in rows {
            assert_eq!(parse_range(text, 10), expect, "{text}");
        }
        assert_eq!(parse_range("bytes=0-", 0), Range::Unsatisfiable);
    }
}
