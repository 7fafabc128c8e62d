//! Who may call what.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use http::{HeaderMap, Method, header};
use sha2::{Digest, Sha256};

use super::HttpError;
use super::query::Query;

const TOKEN: &str = "x-access-token";

/// Refuses a call that needs the token and has none. File transfers may be signed instead; `/health` is open,
/// and `/init` judges for itself.
pub(crate) fn check(
    token: Option<&str>,
    method: &Method,
    uri: &http::Uri,
    headers: &HeaderMap,
) -> Result<(), HttpError> {
    let Some(token) = token else { return Ok(()) };
    if has_token(headers, token) {
        return Ok(());
    }
    match (method.as_str(), uri.path()) {
        ("GET" | "HEAD", "/health") | ("POST", "/init") => Ok(()),
        ("GET" | "HEAD", "/files") => check_signature(&Query::of(uri), "read", token),
        ("POST", "/files") => check_signature(&Query::of(uri), "write", token),
        _ => Err(HttpError::unauthorized("unauthorized access, please provide a valid access token")),
    }
}

/// Whether the request carries the token.
pub(crate) fn has_token(headers: &HeaderMap, token: &str) -> bool {
    headers.get(TOKEN).is_some_and(|given| same(given.as_bytes(), token.as_bytes()))
}

fn check_signature(query: &Query, operation: &str, token: &str) -> Result<(), HttpError> {
    let Some(given) = query.get("signature") else {
        return Err(HttpError::unauthorized("missing access token or signature"));
    };
    let expiration = match query.get("signature_expiration").map(str::parse::<u64>) {
        None => None,
        Some(Ok(expiration)) => Some(expiration),
        Some(Err(_)) => return Err(HttpError::unauthorized("invalid signature")),
    };
    let path = query.get("path").unwrap_or_default();
    let user = query.get("username").unwrap_or_default();
    if !same(given.as_bytes(), signature(path, operation, user, token, expiration).as_bytes()) {
        return Err(HttpError::unauthorized("invalid signature"));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    if expiration.is_some_and(|expiration| expiration < now) {
        return Err(HttpError::unauthorized("signature is already expired"));
    }
    Ok(())
}

fn signature(path: &str, operation: &str, user: &str, token: &str, expiration: Option<u64>) -> String {
    let mut text = format!("{path}:{operation}:{user}:{token}");
    if let Some(expiration) = expiration {
        text.push_str(&format!(":{expiration}"));
    }
    format!("v1_{}", STANDARD_NO_PAD.encode(Sha256::digest(text)))
}

/// Compares in a time that tells nothing about where two secrets differ.
pub(crate) fn same(given: &[u8], secret: &[u8]) -> bool {
    given.len() == secret.len() && given.iter().zip(secret).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

/// The user of `Authorization: Basic base64("user:")`.
pub(crate) fn basic_user(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let encoded = value.strip_prefix("Basic ").or_else(|| value.strip_prefix("basic "))?;
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let user = decoded.split(':').next()?;
    (!user.is_empty()).then(|| user.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(method: Method, uri: &str, headers: &[(&str, &str)]) -> Result<(), String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(http::HeaderName::try_from(*name).expect("name"), value.parse().expect("value"));
        }
        check(Some("secret"), &method, &uri.parse().expect("uri"), &map).map_err(|error| error.message)
    }

    #[test]
    fn the_token_opens_everything_and_its_absence_little() {
        let token = [("X-Access-Token", "secret")];
        assert_eq!(verdict(Method::POST, "/process.Process/List", &token), Ok(()));
        assert_eq!(verdict(Method::GET, "/health", &[]), Ok(()));
        assert_eq!(verdict(Method::POST, "/init", &[]), Ok(()));
        for uri in ["/process.Process/List", "/metrics", "/envs", "/abx/v1/info", "/files/compose"] {
            assert!(verdict(Method::POST, uri, &[]).is_err(), "{uri}");
            assert!(verdict(Method::POST, uri, &[("X-Access-Token", "secreT")]).is_err(), "{uri}");
        }
    }

    #[test]
    fn a_signature_holds_for_one_operation_and_time() {
        let sign = |operation, expiration| signature("/a", operation, "user", "secret", expiration);
        let uri = |signature: &str, rest: &str| {
            format!("/files?path=/a&username=user&signature={}{rest}", signature.replace('+', "%2B"))
        };
        let read = uri(&sign("read", None), "");
        assert_eq!(verdict(Method::GET, &read, &[]), Ok(()));
        assert_eq!(verdict(Method::POST, &read, &[]), Err("invalid signature".into()));
        let past = uri(&sign("write", Some(1)), "&signature_expiration=1");
        assert_eq!(verdict(Method::POST, &past, &[]), Err("signature is already expired".into()));
        let far = uri(&sign("write", Some(99_999_999_999)), "&signature_expiration=99999999999");
        assert_eq!(verdict(Method::POST, &far, &[]), Ok(()));
        let forged = uri(&sign("write", Some(1)), "&signature_expiration=99999999999");
        assert_eq!(verdict(Method::POST, &forged, &[]), Err("invalid signature".into()));
    }
}
