//! Why an archive is refused.

use std::io;

use abx_core::{Code, Fault};
use abx_image::tarball::TarFault;

use super::gunzip::NotGzip;
use super::limited::OverLimit;

/// What is wrong with an archive as a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveFault {
    #[error("the archive is damaged")]
    Tar(#[source] TarFault),
    /// What was sent is something else: a page of a proxy, say.
    #[error("what was sent is no gzip archive")]
    NotGzip,
    #[error("the archive is damaged")]
    Damaged(#[source] io::Error),
    /// One member is, and the archive says which.
    #[error("the archive is damaged at {name:?}")]
    DamagedMember { name: String, source: io::Error },
    /// A member in a form that is not read here.
    #[error("{name:?} of the archive cannot be read: {reason}")]
    Unreadable { name: String, reason: &'static str },
    /// What was unpacked is not unpacked again.
    #[error("it is an archive within a repository or an archive")]
    Nested,
    #[error("it is no archive: neither .tar.gz, .tar nor .zip")]
    NoArchive,
    #[error("the archive is empty")]
    Empty,
    #[error("the archive has more than one top folder")]
    TwoTops,
    #[error("the archive's content is not in a folder")]
    NoTop,
    #[error("the archive has the unsafe path {path:?}")]
    Path { path: String },
    #[error("the hard link {name:?} leads to no file of the archive")]
    HardLink { name: String },
    #[error("the archive has {name:?} twice, as a folder and as something else")]
    Clash { name: String },
    #[error("the archive has more than {cap} {what}")]
    Cap { what: &'static str, cap: u64 },
    /// Told apart from the others, because it is left out and the rest goes on.
    #[error("the path goes through a link")]
    ThroughLink,
    #[error("cannot unpack {name:?}")]
    Io { name: String, source: io::Error },
}

impl From<TarFault> for ArchiveFault {
    fn from(fault: TarFault) -> Self {
        match fault {
            TarFault::Read(error) => error.into(),
            fault => Self::Tar(fault),
        }
    }
}

/// Errors of reading; those of writing are [`ArchiveFault::Io`].
impl From<io::Error> for ArchiveFault {
    fn from(error: io::Error) -> Self {
        match error.get_ref() {
            Some(inner) if inner.is::<NotGzip>() => Self::NotGzip,
            Some(inner) => match inner.downcast_ref::<OverLimit>() {
                Some(&OverLimit { what, cap }) => Self::Cap { what, cap },
                None => Self::Damaged(error),
            },
            None => Self::Damaged(error),
        }
    }
}

impl Fault for ArchiveFault {
    fn code(&self) -> Code {
        match self {
            Self::Cap { .. } => Code::ArchiveCap,
            Self::Io { source, .. } => Code::of_file(source),
            _ => Code::ArchiveUnsafe,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::NotGzip => vec!["a proxy or a log-in page may have answered in the place of GitHub".into()],
            Self::Cap { .. } => vec!["keep large data out of the repository that holds the template".into()],
            Self::Io { source, .. } => Code::of_file(source).home_hints(),
            Self::Tar(_) | Self::Damaged(_) => {
                vec!["try again: where it stays so, what the other side has is damaged".into()]
            }
            Self::Path { .. } | Self::HardLink { .. } | Self::Clash { .. } => {
                vec!["git makes no such archive: ask who made this one, and why".into()]
            }
            Self::Empty | Self::TwoTops | Self::NoTop => {
                vec!["an archive of a repository has one folder, with all its files in it".into()]
            }
            Self::Nested => vec!["let its files lie in a folder there".into()],
            Self::DamagedMember { .. } | Self::Unreadable { .. } | Self::NoArchive | Self::ThroughLink => {
                Vec::new()
            }
        }
    }
}
