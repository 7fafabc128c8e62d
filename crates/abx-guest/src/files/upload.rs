//! `POST /files`.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::read::GzDecoder;
use http::request::Parts;
use http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use serde::Serialize;

use super::download::named_user;
use super::multipart::Multipart;
use super::{metadata, owned, path};
use crate::guest::Guest;
use crate::http::error::json;
use crate::http::query::Query;
use crate::http::stream::{self, PIECE};
use crate::http::{Body, HttpError};
use crate::users::User;

/// A file that was written.
#[derive(Debug, Serialize)]
pub(crate) struct Written {
    path: String,
    name: String,
    r#type: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

impl Written {
    pub(crate) fn at(path: &Path, metadata: BTreeMap<String, String>) -> Self {
        Self {
            path: path.to_string_lossy().into_owned(),
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            r#type: "file",
            metadata,
        }
    }
}

pub(crate) async fn upload(
    guest: &Rc<Guest>,
    request: Request<Incoming>,
) -> Result<Response<Body>, HttpError> {
    let (head, body) = request.into_parts();
    let plan = match Plan::of(guest, &head) {
        Ok(plan) => plan,
        Err(error) => {
            stream::discard(body, stream::COURTESY).await;
            return Err(error);
        }
    };
    let written = stream::receive(body, move |body| plan.receive(body))
        .await
        .map_err(|error| HttpError::io("error receiving", &error))??;
    Ok(json(StatusCode::OK, &written))
}

/// What a request's head says of its body.
struct Plan {
    target: Target,
    gzip: bool,
    /// Of a multipart body.
    boundary: Option<String>,
}

impl Plan {
    fn of(guest: &Guest, head: &Parts) -> Result<Self, HttpError> {
        let query = Query::of(&head.uri);
        let target = Target {
            user: guest.user(named_user(&query, &head.headers).as_deref())?,
            workdir: guest.settings.borrow().workdir.clone().into(),
            path: query.get("path").map(str::to_owned),
            metadata: metadata::of_headers(&head.headers)?,
        };
        let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let gzip = match text(header::CONTENT_ENCODING).trim() {
            "" | "identity" => false,
            "gzip" => true,
            other => return Err(HttpError::bad_request(format!("unsupported content encoding: {other}"))),
        };
        let boundary = part_boundary(text(header::CONTENT_TYPE))?;
        if boundary.is_none() && target.path.is_none() {
            return Err(HttpError::bad_request("path query parameter is required for raw body upload"));
        }
        Ok(Self { target, gzip, boundary })
    }

    fn receive(&self, body: &mut dyn Read) -> Result<Vec<Written>, HttpError> {
        let mut decoder;
        let body: &mut dyn Read = if self.gzip {
            decoder = GzDecoder::new(body);
            &mut decoder
        } else {
            body
        };
        match &self.boundary {
            None => self.target.write(None, body).map(|written| vec![written]),
            Some(boundary) => self.target.write_parts(body, boundary),
        }
    }
}

/// The boundary of a multipart body, `None` for a raw one; there is no third.
fn part_boundary(content_type: &str) -> Result<Option<String>, HttpError> {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/octet-stream") {
        return Ok(None);
    }
    if media_type.eq_ignore_ascii_case("multipart/form-data") {
        let boundary = boundary(content_type);
        return boundary.map(Some).ok_or_else(|| HttpError::bad_request("multipart without boundary"));
    }
    Err(HttpError::bad_request(format!(
        "unsupported content type: {content_type}, expected multipart/form-data or application/octet-stream"
    )))
}

fn boundary(content_type: &str) -> Option<String> {
    let parameter = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.trim().split_once('=')?;
        name.eq_ignore_ascii_case("boundary").then_some(value)
    })?;
    let boundary = parameter.trim().trim_matches('"');
    (1..=200).contains(&boundary.len()).then(|| boundary.to_owned())
}

/// Where an upload goes.
struct Target {
    user: User,
    workdir: PathBuf,
    /// What the query names; it goes before what a part names.
    path: Option<String>,
    metadata: BTreeMap<String, String>,
}

impl Target {
    fn write(&self, filename: Option<&str>, content: &mut dyn Read) -> Result<Written, HttpError> {
        let path = self.locate(filename)?;
        self.write_to(&path, content)?;
        Ok(Written::at(&path, self.metadata.clone()))
    }

    fn write_parts(&self, body: &mut dyn Read, boundary: &str) -> Result<Vec<Written>, HttpError> {
        let damaged = |error: io::Error| HttpError::io("error parsing multipart form", &error);
        let mut multipart = Multipart::new(body, boundary);
        let mut written: Vec<Written> = Vec::new();
        while let Some(part) = multipart.next_part().map_err(damaged)? {
            if part.name != "file" {
                continue;
            }
            let path = self.locate(part.filename.as_deref())?;
            let shown = path.to_string_lossy();
            if written.iter().any(|earlier| earlier.path == shown) {
                return Err(HttpError::bad_request(format!(
                    "you cannot upload multiple files to the same path '{shown}' in one upload request, only the first specified file was uploaded"
                )));
            }
            self.write_to(&path, &mut multipart)?;
            written.push(Written::at(&path, self.metadata.clone()));
        }
        Ok(written)
    }

    fn locate(&self, filename: Option<&str>) -> Result<PathBuf, HttpError> {
        let wanted = self.path.as_deref().or(filename).filter(|wanted| !wanted.is_empty());
        let wanted = wanted
            .ok_or_else(|| HttpError::bad_request("neither a path parameter nor a file name is given"))?;
        path::resolve(wanted, &self.user, &self.workdir)
            .map_err(|error| HttpError::bad_request(error.to_string()))
    }

    fn write_to(&self, path: &Path, content: &mut dyn Read) -> Result<(), HttpError> {
        let shown = path.display();
        let (mut file, is_new) =
            owned::create_file(path, &self.user).map_err(|error| match error.kind() {
                io::ErrorKind::IsADirectory => {
                    HttpError::bad_request(format!("path is a directory: {shown}"))
                }
                _ => HttpError::io(&format!("error opening file '{shown}'"), &error),
            })?;
        let result = copy(content, &mut file)
            .and_then(|()| metadata::replace(&file, &self.metadata))
            .map_err(|error| HttpError::io(&format!("error writing file '{shown}'"), &error));
        if result.is_err() && is_new {
            // Half a file is worse than none.
            let _ = owned::remove(path, &self.user);
        }
        result
    }
}

/// In large pieces: each write is an event for those who watch.
fn copy(content: &mut dyn Read, file: &mut std::fs::File) -> io::Result<()> {
    let mut piece = Vec::new();
    loop {
        piece.clear();
        (&mut *content).take(PIECE as u64).read_to_end(&mut piece)?;
        if piece.is_empty() {
            return Ok(());
        }
        file.write_all(&piece)?;
    }
}
