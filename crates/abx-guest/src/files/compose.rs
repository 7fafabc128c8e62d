//! `POST /files/compose`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde::Deserialize;

use super::download::named_user;
use super::upload::Written;
use super::{owned, path};
use crate::guest::Guest;
use crate::http::error::json;
use crate::http::query::Query;
use crate::http::{Body, HttpError};
use crate::users::User;

const MAX_REQUEST: usize = 1 << 20;

#[derive(Deserialize)]
struct Compose {
    source_paths: Vec<String>,
    destination: String,
    #[serde(default)]
    username: Option<String>,
}

/// Joins files into one, in order, and deletes them.
pub(crate) async fn compose(
    guest: &Rc<Guest>,
    request: Request<Incoming>,
) -> Result<Response<Body>, HttpError> {
    let named = named_user(&Query::of(request.uri()), request.headers());
    let wanted: Compose = read_json(request.into_body()).await?;
    if wanted.source_paths.is_empty() || wanted.destination.is_empty() {
        return Err(HttpError::bad_request("source_paths and destination are required"));
    }
    let user = guest.user(wanted.username.or(named).as_deref())?;
    let workdir = PathBuf::from(&guest.settings.borrow().workdir);
    let locate = |wanted: &String| {
        path::resolve(wanted, &user, &workdir).map_err(|error| HttpError::bad_request(error.to_string()))
    };
    let sources: Vec<PathBuf> = wanted.source_paths.iter().map(locate).collect::<Result<_, _>>()?;
    let destination = locate(&wanted.destination)?;
    if sources.contains(&destination) {
        return Err(HttpError::bad_request("destination must not be one of the sources"));
    }
    let target = destination.clone();
    tokio::task::spawn_blocking(move || join(&sources, &target, &user))
        .await
        .map_err(|error| HttpError::io("error composing", &io::Error::other(error)))??;
    Ok(json(StatusCode::OK, &Written::at(&destination, Default::default())))
}

fn join(sources: &[PathBuf], destination: &Path, user: &User) -> Result<(), HttpError> {
    let opened: Vec<File> = sources.iter().map(|source| open(source, user)).collect::<Result<_, _>>()?;
    let failed = |error| HttpError::io(&format!("error writing file '{}'", destination.display()), &error);
    let (mut file, _) = owned::create_file(destination, user).map_err(failed)?;
    for mut source in opened {
        io::copy(&mut source, &mut file).map_err(failed)?;
    }
    for source in sources {
        owned::remove(source, user)
            .map_err(|error| HttpError::io(&format!("error removing '{}'", source.display()), &error))?;
    }
    Ok(())
}

fn open(source: &Path, user: &User) -> Result<File, HttpError> {
    let shown = source.display();
    source.metadata().map_err(|error| HttpError::io(&format!("path '{shown}' does not exist"), &error))?;
    let failed = |error| HttpError::io(&format!("error opening file '{shown}'"), &error);
    let file = owned::open(source, user).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(HttpError::bad_request(format!("path '{shown}' is not a regular file")));
    }
    Ok(file)
}

/// A small JSON body.
pub(crate) async fn read_json<T: serde::de::DeserializeOwned>(body: Incoming) -> Result<T, HttpError> {
    let collected = Limited::new(body, MAX_REQUEST).collect().await;
    let bytes =
        collected.map_err(|error| HttpError::bad_request(format!("unreadable request: {error}")))?.to_bytes();
    let bytes = if bytes.is_empty() { &b"{}"[..] } else { &bytes };
    serde_json::from_slice(bytes)
        .map_err(|error| HttpError::bad_request(format!("malformed request: {error}")))
}
