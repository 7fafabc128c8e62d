//! `/envs` and `/init`: the variables and defaults of later processes.

use std::collections::BTreeMap;
use std::rc::Rc;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use serde::Deserialize;

use crate::files::compose::read_json;
use crate::guest::Guest;
use crate::http::access::{has_token, same};
use crate::http::error::json;
use crate::http::{Body, HttpError};

/// `GET /envs`.
pub(crate) fn envs(guest: &Guest) -> Response<Body> {
    let settings = guest.settings.borrow();
    let variables: BTreeMap<&str, &str> =
        settings.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    json(StatusCode::OK, &variables)
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Init {
    env_vars: BTreeMap<String, String>,
    access_token: Option<String>,
    default_user: Option<String>,
    default_workdir: Option<String>,
}

/// `POST /init`: what the request names replaces what was; variables are added. Where there is a token, only
/// who knows it may do this.
pub(crate) async fn init(guest: &Rc<Guest>, request: Request<Incoming>) -> Result<Response<Body>, HttpError> {
    let token = guest.settings.borrow().access_token.clone();
    let in_header = token.as_deref().is_none_or(|token| has_token(request.headers(), token));
    let init: Init = read_json(request.into_body()).await?;
    let given = init.access_token.filter(|given| !given.is_empty());
    let in_body = token
        .as_deref()
        .zip(given.as_deref())
        .is_some_and(|(token, given)| same(given.as_bytes(), token.as_bytes()));
    if !in_header && !in_body {
        return Err(HttpError::unauthorized("access token validation failed"));
    }
    let mut settings = guest.settings.borrow_mut();
    settings.env.retain(|(name, _)| !init.env_vars.contains_key(name));
    settings.env.extend(init.env_vars);
    settings.access_token = given.or(token);
    if let Some(user) = init.default_user.filter(|user| !user.is_empty()) {
        settings.user = user;
    }
    if let Some(workdir) = init.default_workdir.filter(|workdir| !workdir.is_empty()) {
        settings.workdir = workdir;
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}
