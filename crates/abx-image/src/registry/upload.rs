//! Sending a blob: at once where it is small, else in chunks whose end is not known beforehand.

use bytes::{Bytes, BytesMut};
use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderMap, LOCATION, RANGE};
use reqwest::{Method, Response, StatusCode, Url};

use super::ask::{Ask, pause};
use super::endpoint::{Endpoint, RETRIES};
use crate::{Digest, ImageError};

/// A chunk that broke off is taken up again so many times.
const RESUMES: u32 = 5;

/// No registry needs larger chunks, whatever it says.
const CHUNK_MAX: usize = 64 << 20;

const BYTES: &str = "application/octet-stream";

/// An upload under way. Not finished, it leaves nothing in the repository.
pub(super) struct Upload<'a> {
    endpoint: &'a Endpoint,
    /// Under which it is known to be open.
    number: u64,
    location: Url,
    /// What the registry has so far.
    offset: u64,
    /// The smallest chunk it takes; what is smaller is held back until more has come.
    least: usize,
    held: BytesMut,
}

/// How an upload begins.
pub(super) enum Begun<'a> {
    /// It need not: the blob was in another repository.
    Mounted,
    Upload(Upload<'a>),
}

/// Begins to send a blob; with `mount`, its digest and another repository, only where it is not there.
pub(super) async fn begin<'a>(
    endpoint: &'a Endpoint,
    mount: Option<(&Digest, &str)>,
) -> Result<Begun<'a>, ImageError> {
    let mut url = endpoint.url("blobs/uploads/");
    if let Some((digest, from)) = mount {
        url.query_pairs_mut().append_pair("mount", &digest.to_string()).append_pair("from", from);
    }
    let mut attempt = 0;
    let response = loop {
        match endpoint.get(Ask::new(Method::POST, url.clone())).await {
            Err(error) if error.is_passing() && !error.is_unreachable() && attempt < RETRIES => {
                attempt += 1;
                pause(attempt).await;
            }
            result => break result?,
        }
    };
    if response.status() == StatusCode::CREATED && mount.is_some() {
        return Ok(Begun::Mounted);
    }
    let least = number(response.headers(), "oci-chunk-min-length").unwrap_or(0);
    let location = location(endpoint, &response, &url)?;
    let missing = ImageError::Protocol { host: endpoint.host().to_owned(), reason: "it names no upload" };
    let location = location.ok_or(missing)?;
    let number = endpoint.uploads.add(location.clone());
    Ok(Begun::Upload(Upload {
        endpoint,
        number,
        location,
        offset: 0,
        least: least.min(CHUNK_MAX),
        held: BytesMut::new(),
    }))
}

/// Sends a blob that is at hand, unless it is there. Returns whether it was.
pub(super) async fn put(endpoint: &Endpoint, digest: &Digest, bytes: Bytes) -> Result<bool, ImageError> {
    if endpoint.head(&format!("blobs/{digest}"), "*/*").await?.is_some() {
        return Ok(true);
    }
    let mut attempt = 0;
    loop {
        let Begun::Upload(upload) = begin(endpoint, None).await? else { return Ok(true) };
        match upload.finish(bytes.clone(), digest).await {
            Err(error) if error.is_passing() && attempt < RETRIES => {
                attempt += 1;
                pause(attempt).await;
            }
            result => return result.map(|()| false),
        }
    }
}

impl Upload<'_> {
    /// Sends the next bytes. Where the connection breaks it asks how many have come and goes on from there.
    ///
    /// # Errors
    /// One that [is passing](ImageError::is_passing) means that the upload is lost and another may succeed.
    pub(super) async fn chunk(&mut self, bytes: &Bytes) -> Result<(), ImageError> {
        if self.held.is_empty() && bytes.len() >= self.least {
            return self.send(bytes).await;
        }
        self.held.extend_from_slice(bytes);
        if self.held.len() < self.least {
            return Ok(());
        }
        let bytes = self.held.split().freeze();
        self.send(&bytes).await
    }

    async fn send(&mut self, bytes: &Bytes) -> Result<(), ImageError> {
        let (begin, end) = (self.offset, self.offset + bytes.len() as u64);
        let mut attempt = 0;
        while self.offset < end {
            let rest = bytes.slice((self.offset - begin) as usize..);
            let Err(error) = self.patch(rest, end).await else { continue };
            let is_worth_asking =
                error.is_passing() || matches!(error, ImageError::Server { status: 416, .. });
            if !is_worth_asking || attempt == RESUMES {
                return Err(error);
            }
            attempt += 1;
            pause(attempt).await;
            match self.status().await {
                Some(offset) if (begin..=end).contains(&offset) => self.offset = offset,
                _ => return Err(self.lost()),
            }
        }
        Ok(())
    }

    async fn patch(&mut self, bytes: Bytes, end: u64) -> Result<(), ImageError> {
        let range = format!("{}-{}", self.offset, end - 1);
        let mut ask = Ask::new(Method::PATCH, self.location.clone()).with(CONTENT_TYPE, BYTES);
        ask = ask.with(CONTENT_RANGE, &range);
        ask.body = bytes;
        let response = self.endpoint.get(ask).await?;
        self.moved(&response)?;
        // Who says nothing has taken all of it.
        let taken = taken(response.headers()).unwrap_or(end);
        if taken > end || taken < self.offset {
            return Err(self.lost());
        }
        if taken == self.offset {
            return Err(self.broken());
        }
        self.offset = taken;
        Ok(())
    }

    /// How many bytes the registry has; `None` where it does not know the upload any more.
    async fn status(&mut self) -> Option<u64> {
        let response = self.endpoint.get(Ask::new(Method::GET, self.location.clone())).await.ok()?;
        self.moved(&response).ok()?;
        taken(response.headers())
    }

    /// Sends the last bytes, by which the blob is there.
    pub(super) async fn finish(mut self, mut rest: Bytes, digest: &Digest) -> Result<(), ImageError> {
        if !self.held.is_empty() {
            self.held.extend_from_slice(&rest);
            rest = self.held.split().freeze();
        }
        let mut url = self.location.clone();
        url.query_pairs_mut().append_pair("digest", &digest.to_string());
        let mut ask = Ask::new(Method::PUT, url).with(CONTENT_TYPE, BYTES);
        if self.offset > 0 && !rest.is_empty() {
            let end = self.offset + rest.len() as u64 - 1;
            ask = ask.with(CONTENT_RANGE, &format!("{}-{end}", self.offset));
        }
        ask.body = rest;
        let error = match self.endpoint.get(ask).await {
            Ok(response) => {
                self.endpoint.uploads.remove(self.number);
                return check_digest(&response, digest, || format!("blob {digest}"));
            }
            Err(error) => error,
        };
        // The answer may have been lost, and not the blob.
        let path = format!("blobs/{digest}");
        if error.is_passing() && matches!(self.endpoint.head(&path, "*/*").await, Ok(Some(_))) {
            self.endpoint.uploads.remove(self.number);
            return Ok(());
        }
        self.abandon().await;
        Err(error)
    }

    /// Tells the registry that nothing more comes. It finds out by itself where it does not hear of it.
    pub(super) async fn abandon(self) {
        let _ = self.endpoint.ask(Ask::new(Method::DELETE, self.location)).await;
        self.endpoint.uploads.remove(self.number);
    }

    fn moved(&mut self, response: &Response) -> Result<(), ImageError> {
        if let Some(location) = location(self.endpoint, response, &self.location)? {
            self.endpoint.uploads.change(self.number, location.clone());
            self.location = location;
        }
        Ok(())
    }

    /// The registry's account is not ours.
    fn lost(&self) -> ImageError {
        let host = self.endpoint.host().to_owned();
        ImageError::Server { host, status: 500, message: "it has lost the upload".to_owned() }
    }

    fn broken(&self) -> ImageError {
        let (subject, host) = ("an upload".to_owned(), self.endpoint.host().to_owned());
        ImageError::Transfer { subject, host, source: None }
    }
}

/// Whether the registry has taken what we have sent for what it is.
pub(super) fn check_digest(
    response: &Response,
    digest: &Digest,
    subject: impl FnOnce() -> String,
) -> Result<(), ImageError> {
    let named = response.headers().get("docker-content-digest").and_then(|value| value.to_str().ok());
    match named.filter(|named| *named != digest.to_string()) {
        None => Ok(()),
        Some(found) => {
            let (expected, found) = (digest.to_string(), found.to_owned());
            Err(ImageError::Digest { subject: subject(), expected, found })
        }
    }
}

fn location(endpoint: &Endpoint, response: &Response, from: &Url) -> Result<Option<Url>, ImageError> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    location.map(|location| endpoint.follow(location, from)).transpose()
}

/// `0-1023` is 1024 bytes. `0-0` is none: no chunk is a single byte, and registries write it for nothing.
fn taken(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(RANGE)?.to_str().ok()?;
    let range = range.strip_prefix("bytes=").unwrap_or(range);
    let last: u64 = range.strip_prefix("0-")?.parse().ok()?;
    Some(if last == 0 { 0 } else { last.checked_add(1)? })
}

fn number(headers: &HeaderMap, name: &str) -> Option<usize> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}
