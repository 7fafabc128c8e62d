//! `ADD` of an address: fetched once, and asked for changes later.
//!
//! ```text
//! cache/urls/<digest of the address>/content   what it has yielded
//! cache/urls/<digest of the address>/about     its checksum, time and tag, written last
//! ```

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_core::fs::{Staging, write_atomic};
use abx_image::http::{self, reqwest};
use reqwest::header::{ETAG, HeaderMap, IF_NONE_MATCH, LAST_MODIFIED};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::builder::workshop::Workshop;
use crate::dockerfile::refusal::Refusal;
use crate::key::{Hasher, hex};

/// How often a transfer looks whether it shall end.
const PAUSE: Duration = Duration::from_millis(50);

/// What an address has yielded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fetched {
    pub(super) path: PathBuf,
    /// `sha256` of the content, in hex.
    pub(super) digest: String,
    /// When the server says it was changed last, in seconds since 1970; 0 where it does not say.
    pub(super) modified: i64,
    tag: Option<String>,
}

/// Whether a source of `ADD` is an address.
pub(super) fn is_url(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

/// The name of the file an address stands for.
pub(super) fn file_name(url: &str) -> Option<String> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let (_, path) = path.split_once("://")?.1.split_once('/')?;
    let name = path.rsplit('/').next().unwrap_or_default();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The content of `url`. What is known to have `checksum` is not asked for again.
pub(super) fn fetch(workshop: &Workshop<'_>, url: &str, checksum: Option<&str>) -> Result<Fetched, Refusal> {
    let directory = workshop.builder.home.cache("urls").join(Hasher::new("url").field(url).hex());
    let lost = |reason: String| Refusal::Fetch { url: url.to_owned(), reason };
    let _lock =
        workshop.lock_file(&directory.with_extension("lock")).map_err(|error| lost(error.to_string()))?;
    let known = read(&directory);
    let wanted = checksum.and_then(|checksum| checksum.strip_prefix("sha256:"));
    let fetched = match known {
        Some(known) if wanted == Some(&*known.digest) => return Ok(known),
        Some(known) if workshop.builder.offline => known,
        None if workshop.builder.offline => return Err(Refusal::FetchOffline { url: url.to_owned() }),
        known => ask(workshop, url, known.as_ref(), &directory).map_err(lost)?,
    };
    match wanted {
        Some(wanted) if wanted != fetched.digest => Err(Refusal::Checksum {
            url: url.to_owned(),
            expected: format!("sha256:{wanted}"),
            found: fetched.digest,
        }),
        _ => Ok(fetched),
    }
}

fn ask(
    workshop: &Workshop<'_>,
    url: &str,
    known: Option<&Fetched>,
    directory: &Path,
) -> Result<Fetched, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let work = async {
        let stopped = async {
            while workshop.check_stop().is_ok() {
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::select! {
            fetched = transfer(workshop, url, known, directory) => fetched,
            () = stopped => Err("the build was stopped".to_owned()),
        }
    };
    runtime.block_on(work)
}

async fn transfer(
    workshop: &Workshop<'_>,
    url: &str,
    known: Option<&Fetched>,
    directory: &Path,
) -> Result<Fetched, String> {
    let client = http::client(&workshop.builder.host).map_err(|error| error.to_string())?;
    let mut request = client.get(url);
    if let Some(tag) = known.and_then(|known| known.tag.as_ref()) {
        request = request.header(IF_NONE_MATCH, tag);
    }
    let mut answer = request.send().await.map_err(|error| deepest(&error))?;
    if let (reqwest::StatusCode::NOT_MODIFIED, Some(known)) = (answer.status(), known) {
        return Ok(known.clone());
    }
    if !answer.status().is_success() {
        return Err(format!("the server answered {}", answer.status()));
    }
    let failed = |error: std::io::Error| error.to_string();
    let parent = workshop.builder.home.store("staging");
    let staging = Staging::new(&parent).map_err(failed)?;
    let path = staging.path().join("content");
    let mut file = std::fs::File::create(&path).map_err(failed)?;
    let mut hasher = Sha256::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| deepest(&error))? {
        hasher.update(&chunk);
        file.write_all(&chunk).map_err(failed)?;
    }
    std::fs::create_dir_all(directory).map_err(failed)?;
    let fetched = Fetched {
        path: directory.join("content"),
        digest: hex(&hasher.finalize()),
        modified: modified(answer.headers()),
        tag: text(answer.headers(), &ETAG),
    };
    // Beside content that is about to change, what is said about it must not count.
    let about = directory.join("about");
    let _ = std::fs::remove_file(&about);
    std::fs::rename(&path, &fetched.path).map_err(failed)?;
    let said = json!({ "digest": fetched.digest, "modified": fetched.modified, "tag": fetched.tag });
    write_atomic(&about, said.to_string().as_bytes()).map_err(failed)?;
    Ok(fetched)
}

fn read(directory: &Path) -> Option<Fetched> {
    let about: Value = serde_json::from_slice(&std::fs::read(directory.join("about")).ok()?).ok()?;
    Some(Fetched {
        path: directory.join("content"),
        digest: about.get("digest")?.as_str()?.to_owned(),
        modified: about.get("modified")?.as_i64()?,
        tag: about.get("tag")?.as_str().map(str::to_owned),
    })
}

fn text(headers: &HeaderMap, name: &reqwest::header::HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn modified(headers: &HeaderMap) -> i64 {
    let time = text(headers, &LAST_MODIFIED).and_then(|text| httpdate::parse_http_date(&text).ok());
    let since = time.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0))
}

/// The cause at the bottom, which says what happened without repeating the address.
fn deepest(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_of_addresses() {
        let rows = [
            ("http://h/a/b.tgz", Some("b.tgz")),
            ("https://h/a?x=/y", Some("a")),
            ("http://h/a/", None),
            ("http://h", None),
        ];
        for (url, expected) in rows {
            assert_eq!(file_name(url).as_deref(), expected, "{url}");
        }
    }
}
