//! File transfers that are signed instead of carrying the token.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::common::TestGuest;

const TOKEN: &str = "s3cret";
const LONG_AGO: u64 = 1_000_000_000;
const FAR_AHEAD: u64 = 99_999_999_999;

/// The signature as the published clients make it, ready for a query.
fn signed(path: &str, operation: &str, user: &str, expiration: Option<u64>) -> String {
    let end = expiration.map(|seconds| format!(":{seconds}")).unwrap_or_default();
    let digest = Sha256::digest(format!("{path}:{operation}:{user}:{TOKEN}{end}"));
    let signature = format!("v1_{}", STANDARD_NO_PAD.encode(digest)).replace('+', "%2B").replace('/', "%2F");
    let expiration = expiration.map(|seconds| format!("&signature_expiration={seconds}")).unwrap_or_default();
    let user = if user.is_empty() { String::new() } else { format!("&username={user}") };
    format!("/files?path={path}{user}&signature={signature}{expiration}")
}

fn refusal(guest: &TestGuest, target: &str) -> Value {
    let answer = guest.http("GET", target, &[], b"");
    assert_eq!(answer.status, 401, "{target}");
    serde_json::from_slice(&answer.body).expect("json")
}

#[test]
fn a_signed_address_is_good_for_its_operation_file_user_and_time() {
    let guest = TestGuest::with(|config| config.access_token = Some(TOKEN.into()));
    let user = rustix::process::getuid().as_raw().to_string();
    let path = guest.path("work/file");
    let octets = [("Content-Type", "application/octet-stream")];
    for expiration in [None, Some(FAR_AHEAD)] {
        for user in ["", user.as_str()] {
            let up = guest.http("POST", &signed(&path, "write", user, expiration), &octets, b"content");
            assert_eq!(up.status, 200, "{up:?}");
            let down = guest.http("GET", &signed(&path, "read", user, expiration), &[], b"");
            assert_eq!((down.status, &down.body[..]), (200, &b"content"[..]));
        }
    }
    // For nothing else.
    assert_eq!(guest.http("POST", &signed(&path, "read", "", None), &octets, b"x").status, 401);
    let other = signed(&path, "read", "", None).replace("work/file", "work/other");
    assert_eq!(refusal(&guest, &other), json!({ "code": 401, "message": "invalid signature" }));
    let expired = signed(&path, "read", "", Some(LONG_AGO));
    assert_eq!(refusal(&guest, &expired), json!({ "code": 401, "message": "signature is already expired" }));
    let prolonged = expired.replace(&LONG_AGO.to_string(), &FAR_AHEAD.to_string());
    assert_eq!(refusal(&guest, &prolonged)["message"], "invalid signature");
    let unsigned = refusal(&guest, &format!("/files?path={path}"));
    assert_eq!(unsigned["message"], "missing access token or signature");
    // A signature of files opens no call.
    let (status, _) = guest.call("/filesystem.Filesystem/ListDir", &json!({ "path": "/" }).to_string());
    assert_eq!(status, 401);
}
