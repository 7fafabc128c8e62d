//! `filesystem.Filesystem`: looking at, moving, removing and watching files.

use std::collections::BTreeMap;

use prost::{Enumeration, Message, Oneof};
use serde::{Deserialize, Serialize};

use crate::json::{self, Timestamp};
use crate::process::KeepAlive;

/// The service's name; a call's path is `/filesystem.Filesystem/<Method>`.
pub const SERVICE: &str = "filesystem.Filesystem";

/// A request that is just a path: `Stat`, `MakeDir` and `Remove`.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct PathRequest {
    #[prost(string, tag = "1")]
    pub path: String,
}

/// An answer that is just an entry: of `Stat`, `MakeDir` and `Move`.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct EntryResponse {
    #[prost(message, optional, tag = "1")]
    pub entry: Option<EntryInfo>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct MoveRequest {
    #[prost(string, tag = "1")]
    pub source: String,
    #[prost(string, tag = "2")]
    pub destination: String,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ListDirRequest {
    #[prost(string, tag = "1")]
    pub path: String,
    /// 0 means 1: the directory's own entries.
    #[prost(uint32, tag = "2")]
    pub depth: u32,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ListDirResponse {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<EntryInfo>,
}

/// A file, directory or link. A link that leads somewhere has its target's type and mode.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EntryInfo {
    #[prost(string, tag = "1")]
    pub name: String,
    /// A [`FileType`].
    #[prost(enumeration = "FileType", tag = "2")]
    #[serde(with = "file_type_name")]
    pub r#type: i32,
    #[prost(string, tag = "3")]
    pub path: String,
    #[prost(int64, tag = "4")]
    #[serde(with = "json::int64")]
    pub size: i64,
    /// Permission bits.
    #[prost(uint32, tag = "5")]
    pub mode: u32,
    /// Like `-rw-r--r--`.
    #[prost(string, tag = "6")]
    pub permissions: String,
    #[prost(string, tag = "7")]
    pub owner: String,
    #[prost(string, tag = "8")]
    pub group: String,
    #[prost(message, optional, tag = "9")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_time: Option<Timestamp>,
    /// Where a link leads, absolute.
    #[prost(string, optional, tag = "10")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symlink_target: Option<String>,
    /// What uploads attached to the file.
    #[prost(btree_map = "string, string", tag = "11")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

json::enum_by_name!(file_type_name, crate::filesystem::FileType);
json::enum_by_name!(event_type_name, crate::filesystem::EventType);

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum FileType {
    Unspecified = 0,
    File = 1,
    Directory = 2,
    Symlink = 3,
}

impl FileType {
    /// The name on the wire.
    pub fn as_str_name(self) -> &'static str {
        match self {
            Self::Unspecified => "FILE_TYPE_UNSPECIFIED",
            Self::File => "FILE_TYPE_FILE",
            Self::Directory => "FILE_TYPE_DIRECTORY",
            Self::Symlink => "FILE_TYPE_SYMLINK",
        }
    }

    /// From the name on the wire.
    pub fn from_str_name(name: &str) -> Option<Self> {
        [Self::Unspecified, Self::File, Self::Directory, Self::Symlink]
            .into_iter()
            .find(|file_type| file_type.as_str_name() == name)
    }
}

/// The request of `WatchDir` and `CreateWatcher`.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WatchRequest {
    #[prost(string, tag = "1")]
    pub path: String,
    #[prost(bool, tag = "2")]
    pub recursive: bool,
    /// Put the entry into each event where it still exists.
    #[prost(bool, tag = "3")]
    pub include_entry: bool,
    #[prost(bool, tag = "4")]
    pub allow_network_mounts: bool,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchDirResponse {
    #[prost(oneof = "WatchEvent", tags = "1, 2, 3")]
    #[serde(flatten)]
    pub event: Option<WatchEvent>,
}

/// The kinds of [`WatchDirResponse`]; `Start` is first.
#[derive(Clone, PartialEq, Oneof, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WatchEvent {
    #[prost(message, tag = "1")]
    Start(WatchStarted),
    #[prost(message, boxed, tag = "2")]
    Filesystem(Box<FilesystemEvent>),
    #[prost(message, tag = "3")]
    KeepAlive(KeepAlive),
}

impl From<WatchEvent> for WatchDirResponse {
    fn from(event: WatchEvent) -> Self {
        Self { event: Some(event) }
    }
}

#[derive(Clone, Copy, PartialEq, Message, Serialize, Deserialize)]
pub struct WatchStarted {}

/// A change below a watched directory.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesystemEvent {
    /// Relative to the watched directory.
    #[prost(string, tag = "1")]
    pub name: String,
    /// An [`EventType`].
    #[prost(enumeration = "EventType", tag = "2")]
    #[serde(with = "event_type_name")]
    pub r#type: i32,
    #[prost(message, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryInfo>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum EventType {
    Unspecified = 0,
    Create = 1,
    Write = 2,
    Remove = 3,
    Rename = 4,
    Chmod = 5,
}

impl EventType {
    /// The name on the wire.
    pub fn as_str_name(self) -> &'static str {
        match self {
            Self::Unspecified => "EVENT_TYPE_UNSPECIFIED",
            Self::Create => "EVENT_TYPE_CREATE",
            Self::Write => "EVENT_TYPE_WRITE",
            Self::Remove => "EVENT_TYPE_REMOVE",
            Self::Rename => "EVENT_TYPE_RENAME",
            Self::Chmod => "EVENT_TYPE_CHMOD",
        }
    }

    /// From the name on the wire.
    pub fn from_str_name(name: &str) -> Option<Self> {
        [Self::Unspecified, Self::Create, Self::Write, Self::Remove, Self::Rename, Self::Chmod]
            .into_iter()
            .find(|event_type| event_type.as_str_name() == name)
    }
}

/// Names a watcher: the answer of `CreateWatcher`, the request of `GetWatcherEvents` and `RemoveWatcher`.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WatcherId {
    #[prost(string, tag = "1")]
    pub watcher_id: String,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct WatcherEvents {
    #[prost(message, repeated, tag = "1")]
    pub events: Vec<FilesystemEvent>,
}
