//! Why an archive cannot be read.

/// What is wrong with an archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TarFault {
    #[error("it ends in the middle of a member")]
    Truncated,
    #[error("a header's checksum is wrong")]
    Checksum,
    #[error("a header's field {field} is malformed")]
    Field { field: &'static str },
    #[error("an extension header of {size} bytes is over the cap of {cap}")]
    ExtensionTooLong { size: u64, cap: u64 },
    #[error("an extension header describes no member")]
    Dangling,
    #[error("a member of type {kind:?} is not supported")]
    Unsupported { kind: char },
    #[error("it cannot be read")]
    Read(#[from] std::io::Error),
}
