//! Logging in to the registry: what it asks for, and its token service.

use std::net::SocketAddr;

use serde_json::json;

use super::http::{Request, Response};

/// How a registry wants to be logged in to.
#[derive(Clone, Debug)]
pub enum Login {
    /// User and password with each request.
    Basic { user: String, password: String },
    /// A token from `/token`, for the given user and password only, or for anyone.
    Token { user: Option<(String, String)> },
    /// A token from `/token` in exchange for this identity token.
    Identity { token: String },
    /// Tokens are given, and none is ever accepted.
    Never,
}

/// What the token service hands out after so many expiries.
fn valid(expired: usize) -> String {
    format!("token-{expired}-of-the-loopback-registry")
}

pub(super) fn token(login: Option<&Login>, expired: usize, request: &Request) -> Response {
    let body = String::from_utf8_lossy(&request.body);
    let allowed = match login {
        Some(Login::Token { user: Some((user, password)) }) => request.is_basic(user, password),
        Some(Login::Identity { token }) => {
            request.method == "POST"
                && body.contains("grant_type=refresh_token")
                && body.contains(&format!("refresh_token={token}"))
        }
        _ => true,
    };
    match (allowed, login) {
        (true, Some(Login::Identity { .. })) => {
            Response::new(200).with_body(json!({ "access_token": valid(expired) }).to_string())
        }
        (true, _) => Response::new(200).with_body(json!({ "token": valid(expired) }).to_string()),
        (false, _) => Response::new(401),
    }
}

pub(super) fn refusal(
    login: Option<&Login>,
    expired: usize,
    request: &Request,
    address: SocketAddr,
) -> Option<Response> {
    let token = || {
        let path = request.path.strip_prefix("/v2/").unwrap_or_default();
        let parts = ["/manifests/", "/blobs/", "/tags/"];
        let repository =
            parts.iter().find_map(|part| path.split_once(part)).map_or(path, |(before, _)| before);
        let actions = if matches!(request.method.as_str(), "GET" | "HEAD") { "pull" } else { "pull,push" };
        format!(
            "Bearer realm=\"http://{address}/token\",service=\"test\",scope=\"repository:{repository}:{actions}\""
        )
    };
    let (allowed, challenge) = match login? {
        Login::Basic { user, password } => {
            (request.is_basic(user, password), "Basic realm=\"test\"".to_owned())
        }
        Login::Token { .. } | Login::Identity { .. } => {
            (request.header("authorization") == Some(&format!("Bearer {}", valid(expired))), token())
        }
        Login::Never => (false, token()),
    };
    (!allowed).then(|| Response::new(401).with("WWW-Authenticate", challenge))
}
