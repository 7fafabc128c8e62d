//! Why a layer cannot be packed.

use std::io;

/// What is wrong with a file of a layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackFault {
    #[error("it cannot be read")]
    Read(#[source] io::Error),
    #[error("the archive cannot be written")]
    Write(#[source] io::Error),
    #[error("its content is in a layer below ({attribute})")]
    Shared { attribute: String },
}
