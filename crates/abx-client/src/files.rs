//! Looking at files, uploads, downloads, whole directories.

use std::fmt::Write as _;

use abx_protocol::filesystem::{
    EntryInfo, EntryResponse, ListDirRequest, ListDirResponse, MoveRequest, PathRequest,
};
use abx_protocol::private::{ARCHIVE, ArchiveReport};
use abx_protocol::process::Empty;
use bytes::{Bytes, BytesMut};
use http::{Method, Response, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::transport::{RequestBody, refusal};
use crate::{Client, ClientError};

/// Bytes of a piece of an upload.
const PIECE: usize = 256 << 10;
/// Pieces that may wait.
const DEPTH: usize = 2;

/// Paths are absolute, or relative to the user's home; `~` is the home. Where `user` is absent it is the
/// sandbox's.
impl Client {
    /// What is at `path`.
    pub async fn stat(&self, path: &str, user: Option<&str>) -> Result<EntryInfo, ClientError> {
        let request = PathRequest { path: path.to_owned() };
        let answer: EntryResponse =
            self.endpoint.unary("stat", "/filesystem.Filesystem/Stat", user, &request, Some(path)).await?;
        entry("stat", answer)
    }

    /// What is in the directory at `path`, `depth` levels deep, in the order of names.
    pub async fn list(
        &self,
        path: &str,
        depth: u32,
        user: Option<&str>,
    ) -> Result<Vec<EntryInfo>, ClientError> {
        let request = ListDirRequest { path: path.to_owned(), depth };
        let answer: ListDirResponse =
            self.endpoint.unary("list", "/filesystem.Filesystem/ListDir", user, &request, Some(path)).await?;
        Ok(answer.entries)
    }

    /// Makes a directory and its parents; an existing one is an error.
    pub async fn make_dir(&self, path: &str, user: Option<&str>) -> Result<EntryInfo, ClientError> {
        let request = PathRequest { path: path.to_owned() };
        let answer: EntryResponse = self
            .endpoint
            .unary("make directory", "/filesystem.Filesystem/MakeDir", user, &request, Some(path))
            .await?;
        entry("make directory", answer)
    }

    /// Moves a file or directory; the destination's parents are made.
    pub async fn rename(
        &self,
        source: &str,
        destination: &str,
        user: Option<&str>,
    ) -> Result<EntryInfo, ClientError> {
        let request = MoveRequest { source: source.to_owned(), destination: destination.to_owned() };
        let answer: EntryResponse =
            self.endpoint.unary("move", "/filesystem.Filesystem/Move", user, &request, Some(source)).await?;
        entry("move", answer)
    }

    /// Removes a file, or a directory with all that is in it. What is not there is removed already.
    pub async fn remove(&self, path: &str, user: Option<&str>) -> Result<(), ClientError> {
        let request = PathRequest { path: path.to_owned() };
        let _: Empty = self
            .endpoint
            .unary("remove", "/filesystem.Filesystem/Remove", user, &request, Some(path))
            .await?;
        Ok(())
    }

    /// Writes what `reader` yields to the file `destination`, which then belongs to the user. Its parents are
    /// made. Memory stays constant whatever the size.
    pub async fn upload(
        &self,
        reader: impl AsyncRead + Unpin,
        destination: &str,
        user: Option<&str>,
    ) -> Result<(), ClientError> {
        let target = target("/files", destination, user);
        let builder = self
            .endpoint
            .request(Method::POST, &target, None)
            .header(header::CONTENT_TYPE, "application/octet-stream");
        let (pieces, receiver) = mpsc::channel(DEPTH);
        let answer = self.endpoint.json::<serde::de::IgnoredAny>(
            "upload",
            builder,
            RequestBody::Stream(receiver),
            Some(destination),
        );
        transfer(reader, pieces, destination, answer).await.map(drop)
    }

    /// The file's bytes.
    pub async fn download(&self, path: &str, user: Option<&str>) -> Result<Download, ClientError> {
        self.fetch("download", &target("/files", path, user), path).await
    }

    /// A directory's content as a tar stream, names relative to it; of a file, that file by its name.
    pub async fn archive_out(&self, path: &str, user: Option<&str>) -> Result<Download, ClientError> {
        self.fetch("download", &target(ARCHIVE, path, user), path).await
    }

    /// Lays a tar stream down in a directory, made where absent. What it makes belongs to the user; modes, times
    /// and links are the archive's.
    pub async fn archive_in(
        &self,
        reader: impl AsyncRead + Unpin,
        destination: &str,
        user: Option<&str>,
    ) -> Result<ArchiveReport, ClientError> {
        let builder = self.endpoint.request(Method::PUT, &target(ARCHIVE, destination, user), None);
        let (pieces, receiver) = mpsc::channel(DEPTH);
        let answer = self.endpoint.json("upload", builder, RequestBody::Stream(receiver), Some(destination));
        transfer(reader, pieces, destination, answer).await
    }

    async fn fetch(&self, call: &'static str, target: &str, path: &str) -> Result<Download, ClientError> {
        let builder = self.endpoint.request(Method::GET, target, None);
        let response = self.endpoint.send(call, builder, RequestBody::empty()).await?;
        if !response.status().is_success() {
            return Err(refusal(call, Some(path), response).await);
        }
        Ok(Download { call, path: path.to_owned(), response })
    }
}

fn entry(call: &'static str, answer: EntryResponse) -> Result<EntryInfo, ClientError> {
    answer.entry.ok_or_else(|| ClientError::Malformed { call, what: "no entry".to_owned() })
}

fn target(route: &str, path: &str, user: Option<&str>) -> String {
    let mut target = format!("{route}?path={}", escape(path));
    if let Some(user) = user {
        let _ = write!(target, "&username={}", escape(user));
    }
    target
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            escaped.push(byte.into());
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// Feeds the request while its answer is awaited. An answer that comes early, a refusal, ends the feeding.
async fn transfer<A>(
    mut reader: impl AsyncRead + Unpin,
    pieces: mpsc::Sender<std::io::Result<Bytes>>,
    path: &str,
    answer: impl Future<Output = Result<A, ClientError>>,
) -> Result<A, ClientError> {
    let feed = async move {
        loop {
            let mut piece = BytesMut::with_capacity(PIECE);
            while piece.len() < PIECE {
                match reader.read_buf(&mut piece).await {
                    Ok(0) if piece.is_empty() => return Ok(()),
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) => {
                        // The daemon must not take the part for the whole.
                        let cut = std::io::Error::from(error.kind());
                        let _ = pieces.send(Err(cut)).await;
                        return Err(error);
                    }
                }
            }
            if pieces.send(Ok(piece.freeze())).await.is_err() {
                return Ok(());
            }
        }
    };
    let mut answer = std::pin::pin!(answer);
    tokio::select! {
        biased;
        answered = &mut answer => return answered,
        fed = feed => fed.map_err(|source| ClientError::Local { path: path.to_owned(), source })?,
    }
    answer.await
}

/// Bytes on their way out of a sandbox.
#[derive(Debug)]
pub struct Download {
    call: &'static str,
    path: String,
    response: Response<Incoming>,
}

impl Download {
    /// The whole size, where it is known beforehand.
    pub fn size(&self) -> Option<u64> {
        self.response.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    /// The next piece; `None` at the end. A connection that breaks before is an error.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        while let Some(frame) = self.response.body_mut().frame().await {
            let frame =
                frame.map_err(|source| ClientError::Gone { call: self.call, source: Some(source) })?;
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// Writes everything to `writer` and flushes it. Returns how much it was.
    pub async fn copy_to(mut self, mut writer: impl AsyncWrite + Unpin) -> Result<u64, ClientError> {
        let mut total = 0;
        while let Some(piece) = self.next().await? {
            total += piece.len() as u64;
            writer.write_all(&piece).await.map_err(|source| self.local(source))?;
        }
        writer.flush().await.map_err(|source| self.local(source))?;
        Ok(total)
    }

    /// Everything in memory: for small files.
    pub async fn bytes(self) -> Result<Bytes, ClientError> {
        let mut bytes = Vec::new();
        self.copy_to(&mut bytes).await?;
        Ok(bytes.into())
    }

    fn local(&self, source: std::io::Error) -> ClientError {
        ClientError::Local { path: self.path.clone(), source }
    }
}
