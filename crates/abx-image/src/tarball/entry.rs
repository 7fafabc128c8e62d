//! One member of an archive.

/// A member, without its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// As written, whatever it says.
    pub(crate) path: Vec<u8>,
    pub(crate) kind: Kind,
    /// The twelve permission bits.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime: Time,
    /// Bytes of data that follow; none for anything but a file.
    pub(crate) size: u64,
    pub(crate) xattrs: Vec<Xattr>,
}

/// What a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    /// Another name of an earlier member.
    HardLink(Vec<u8>),
    Symlink(Vec<u8>),
    Fifo,
    Device {
        character: bool,
        major: u32,
        minor: u32,
    },
}

/// Seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Time {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
}

/// An extended attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Xattr {
    pub(crate) name: String,
    pub(crate) value: Vec<u8>,
}
