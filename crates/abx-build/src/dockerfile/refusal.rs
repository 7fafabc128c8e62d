//! Why an instruction cannot be done.

use std::io;

/// What is wrong with an instruction, known only now that it is its turn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error("there is no `{path}` in {place}")]
    NoSource { path: String, place: String },
    #[error("`{path}` is left out of the build context by the ignore file")]
    Ignored { path: String },
    #[error("several files need a destination that ends with `/`")]
    SeveralFiles,
    #[error("`{path}` is a directory in the image, and a file cannot take its place")]
    OverDirectory { path: String },
    #[error("`{path}` is no directory in the image, and a directory cannot take its place")]
    OverFile { path: String },
    #[error("`{path}` cannot be a destination: it is below a file")]
    BelowFile { path: String },
    #[error("the image has no user `{name}`")]
    NoUser { name: String },
    #[error("the image has no group `{name}`")]
    NoGroup { name: String },
    #[error("the id {id} is beyond 65535")]
    IdTooLarge { id: u32 },
    #[error("no secret `{id}` was given")]
    NoSecret { id: String },
    #[error("the secret `{id}` cannot be a variable: it is no text")]
    SecretNotText { id: String },
    #[error("a build here makes images for {host}, not for {wanted}")]
    Platform { wanted: String, host: String },
    #[error("the image `{name}` was not fetched for this build")]
    NoImage { name: String },
    #[error("cannot fetch {url}: {reason}")]
    Fetch { url: String, reason: String },
    #[error("{url} has not been fetched yet, and nothing may be fetched")]
    FetchOffline { url: String },
    #[error("{url} has the checksum sha256:{found}, not {expected}")]
    Checksum { url: String, expected: String, found: String },
    #[error("{url} names no file to write to; end the destination with the file's name")]
    NoFileName { url: String },
    #[error("cannot unpack `{path}`: {reason}")]
    Unpack { path: String, reason: String },
    #[error("`{pattern}` is no pattern: {reason}")]
    Pattern { pattern: String, reason: String },
    #[error("`{path}` changed while it was being copied")]
    Changed { path: String },
    /// A file could not be read or written.
    #[error("cannot {verb} `{path}`: {source}")]
    File { verb: &'static str, path: String, source: io::Error },
}

impl Refusal {
    pub(crate) fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::NoSource { .. } => {
                "sources are looked for below the folder that is built, wherever it lies"
            }
            Self::Ignored { .. } => "take it back with a line that begins with `!`",
            Self::OverFile { .. } => "a link to a directory counts as no directory: copy to where it leads",
            Self::NoUser { .. } => "add it in a RUN step before, or use its number",
            Self::NoGroup { .. } => "add it in a RUN step before, or use its number",
            Self::IdTooLarge { .. } => "a sandbox has the ids from 0 to 65535",
            Self::NoSecret { .. } => "give it with `--secret id=NAME,src=FILE`",
            Self::FetchOffline { .. } => "run once without --offline",
            Self::Checksum { .. } => {
                "what the address yields has changed: look at it before you change the checksum"
            }
            _ => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}
