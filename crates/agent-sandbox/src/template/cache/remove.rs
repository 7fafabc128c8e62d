//! Taking things out of their places.

use std::io::ErrorKind;
use std::path::Path;

use abx_core::fs::{Lock, Staging};

use super::entry::Target;
use crate::{Context, Error};

/// Moves an entry into `staging`, with which it goes. Layers of an image stay.
pub(super) fn take(context: &Context, target: &Target, staging: &Staging) -> Result<(), Error> {
    match target {
        Target::Path(path) => take_path(path, staging),
        Target::Image(id) => Ok(context.store().remove_image(id)?),
        Target::Layer(id) => Ok(context.store().take_layer(id, staging)?),
        // Swept by their locks.
        Target::Staging => Ok(()),
    }
}

fn take_path(path: &Path, staging: &Staging) -> Result<(), Error> {
    let count = std::fs::read_dir(staging.path()).map_err(Error::state(staging.path()))?.count();
    match std::fs::rename(path, staging.path().join(format!("cleaned-{count}"))) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result.map_err(Error::state(path)),
    }
}

/// Removes the files of locks that nobody holds, and says how many. The caller has the store for itself.
pub(super) fn locks(context: &Context) -> Result<usize, Error> {
    let root = context.home.store("locks");
    let entries = match std::fs::read_dir(&root) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        entries => entries.map_err(Error::state(&root))?,
    };
    let mut removed = 0;
    for path in entries.flatten().map(|entry| entry.path()) {
        if let Ok(Some(_free)) = Lock::try_exclusive(&path) {
            std::fs::remove_file(&path).map_err(Error::state(&path))?;
            removed += 1;
        }
    }
    Ok(removed)
}
