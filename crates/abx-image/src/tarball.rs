//! Tar as a stream, to the letter.
//!
//! Header fields are read and written by the `tar` crate; the framing is ours, because layers need what that
//! crate's iterator lacks: extended attributes with any bytes in them (a file capability may hold a line
//! break) and a bound on extension headers, which it would hold in memory whole.

mod entry;
mod fault;
mod pax;
mod reader;
mod writer;

pub use entry::{Entry, Kind, Time, Xattr};
pub use fault::TarFault;
pub use reader::Reader;
pub use writer::Writer;

const BLOCK: u64 = 512;

/// The zeros that fill `size` up to whole blocks.
fn padding(size: u64) -> u64 {
    (BLOCK - size % BLOCK) % BLOCK
}

#[cfg(test)]
mod tests;
