//! The rows of the comparison.

/// A row: one or more questions about the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    StartNone,
    StartNet,
    Exec,
    Burst,
    Memory,
    Capacity,
    Cells,
    Files,
    Echo,
    Pool,
    SecondCreate,
    Build,
    Dockerfile,
    Stages,
    Copy,
    Science,
    Bootstrap,
    Fetch,
    Transfer,
    /// Only where it is asked for: it takes minutes, and nobody takes turns in it.
    Soak,
}

/// The surroundings a row is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A network of its own that leads nowhere: interfaces and packet filters vanish with it.
    Closed,
    /// The host's network, for rows that fetch packages.
    Open,
}

impl Row {
    /// All of the comparison, in the order they are run.
    pub(crate) const ALL: [Self; 19] = [
        Self::StartNone,
        Self::StartNet,
        Self::Exec,
        Self::Burst,
        Self::Memory,
        Self::Capacity,
        Self::Cells,
        Self::Files,
        Self::Echo,
        Self::Pool,
        Self::SecondCreate,
        Self::Build,
        Self::Dockerfile,
        Self::Stages,
        Self::Copy,
        Self::Science,
        Self::Bootstrap,
        Self::Fetch,
        Self::Transfer,
    ];

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StartNone => "start-none",
            Self::StartNet => "start-net",
            Self::Exec => "exec",
            Self::Burst => "burst",
            Self::Memory => "memory",
            Self::Capacity => "capacity",
            Self::Cells => "cells",
            Self::Files => "files",
            Self::Echo => "echo",
            Self::Pool => "pool",
            Self::SecondCreate => "second-create",
            Self::Build => "build",
            Self::Dockerfile => "dockerfile",
            Self::Stages => "stages",
            Self::Copy => "copy",
            Self::Science => "science",
            Self::Bootstrap => "bootstrap",
            Self::Fetch => "fetch",
            Self::Transfer => "transfer",
            Self::Soak => "soak",
        }
    }

    /// For the help text.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::StartNone => "create to first answer, without a network",
            Self::StartNet => "create to first answer, with the default network",
            Self::Exec => "a command in a running sandbox",
            Self::Burst => "creates a second, ten at once",
            Self::Memory => "an idle sandbox",
            Self::Capacity => "idle sandboxes that 8 GiB hold",
            Self::Cells => "code in a context: the first cell and the next",
            Self::Files => "100 MB into a sandbox and out of it",
            Self::Echo => "a character in a terminal",
            Self::Pool => "a ready sandbox taken from a pool",
            Self::SecondCreate => "create from a template that is built",
            Self::Build => "a template built cold, cached, and with one file changed",
            Self::Dockerfile => "a Dockerfile built cold, cached, and with one file changed",
            Self::Stages => "the same with ten stages",
            Self::Copy => "the same with 5,000 files to copy",
            Self::Science => "a scientific Python stack installed",
            Self::Bootstrap => "a Debian root file system from the archive",
            Self::Fetch => "a repository fetched and extracted, and once it is known",
            Self::Transfer => "an image pushed to a registry and pulled from it",
            Self::Soak => "many creates and kills, and whether something is left behind",
        }
    }

    /// The row of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Soak]).find(|row| row.name() == name)
    }

    /// Where it is measured.
    pub(crate) fn reach(self) -> Reach {
        match self {
            Self::SecondCreate | Self::Build | Self::Dockerfile | Self::Stages => Reach::Open,
            Self::Copy | Self::Science | Self::Bootstrap => Reach::Open,
            _ => Reach::Closed,
        }
    }

    /// The built-in template it needs to be built.
    pub(crate) fn template(self) -> Option<&'static str> {
        match self {
            Self::SecondCreate | Self::Build | Self::Transfer => Some("python-base"),
            Self::Dockerfile | Self::Science => Some("python-base"),
            Self::Bootstrap | Self::Fetch => None,
            _ => Some("base"),
        }
    }
}
