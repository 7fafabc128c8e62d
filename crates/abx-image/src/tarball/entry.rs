//! One member of an archive.

/// A member, without its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// As written, whatever it says.
    pub path: Vec<u8>,
    pub kind: Kind,
    /// The twelve permission bits.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub mtime: Time,
    /// Bytes of data that follow; none for anything but a file.
    pub size: u64,
    pub xattrs: Vec<Xattr>,
}

/// What a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
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
pub struct Time {
    pub seconds: i64,
    pub nanoseconds: u32,
}

/// An extended attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xattr {
    pub name: String,
    pub value: Vec<u8>,
}
