//! The compressions of index files and package members.

use std::io::Read;

/// A compression, told by the end of a file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Xz,
    Zstd,
    Gzip,
    None,
}

impl Compression {
    /// Of `.xz`, `.zst`, `.gz` and no suffix.
    pub(crate) fn of_suffix(suffix: &str) -> Option<Self> {
        [Self::Xz, Self::Zstd, Self::Gzip, Self::None].into_iter().find(|kind| kind.suffix() == suffix)
    }

    /// The end of a file's name.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Xz => ".xz",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
            Self::None => "",
        }
    }

    /// Reads what `bytes` hold.
    pub(crate) fn reader<'a>(self, bytes: &'a [u8]) -> std::io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::Xz => Box::new(liblzma::read::XzDecoder::new_multi_decoder(bytes)),
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(bytes)?),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(bytes)),
            Self::None => Box::new(bytes),
        })
    }
}
