//! Telling and undoing compression.

use std::io::{self, BufReader, Read};

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The plain bytes of a stream, whatever its media type claims: registries mislabel.
pub(super) fn decompress<'a>(stream: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    let mut start = Vec::with_capacity(ZSTD.len());
    stream.by_ref().take(ZSTD.len() as u64).read_to_end(&mut start)?;
    let whole = io::Cursor::new(start.clone()).chain(stream);
    Ok(match &start[..] {
        start if start.starts_with(GZIP) => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        start if start.starts_with(ZSTD) => Box::new(zstd::stream::read::Decoder::new(whole)?),
        _ => Box::new(whole),
    })
}
