//! Secrets of the caller, read when they are needed.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use abx_build::BuildSecret;

use crate::{Context, Error};

/// The largest secret, as docker's own limit.
const BYTES: u64 = 500 * 1024;

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretPlace {
    /// A file; a relative path starts in the working directory.
    File(PathBuf),
    /// An environment variable.
    Variable(String),
}

/// A secret by its name in the Dockerfile, and where it is. What it is comes from there when it is read, so that no
/// argument list holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretSource {
    pub id: String,
    pub place: SecretPlace,
}

impl SecretSource {
    /// Reads it; `variable` is how the caller looks into its environment.
    ///
    /// # Errors
    /// The file cannot be read, there is no such variable, or it is larger than a secret can be.
    pub fn read(
        &self,
        context: &Context,
        variable: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<BuildSecret, Error> {
        let value = match &self.place {
            SecretPlace::Variable(name) => variable(name)
                .ok_or_else(|| Error::NoSecret { id: self.id.clone(), variable: name.clone() })?,
            SecretPlace::File(path) => {
                let path = context.cwd.join(path);
                let mut value = Vec::new();
                let read = File::open(&path).and_then(|file| file.take(BYTES + 1).read_to_end(&mut value));
                read.map_err(|source| Error::SecretFile { id: self.id.clone(), path, source })?;
                value
            }
        };
        match u64::try_from(value.len()) {
            Ok(length) if length <= BYTES => Ok(BuildSecret { id: self.id.clone(), value }),
            _ => Err(Error::SecretTooLarge { id: self.id.clone(), limit: BYTES }),
        }
    }
}
