//! The command line.

use std::path::PathBuf;

use crate::peer::Peer;

/// What is asked for.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) peer: Option<Peer>,
    /// Whether what the peer says is written down.
    pub(crate) records: bool,
    /// Where the table goes.
    pub(crate) report: Option<PathBuf>,
    names: Vec<String>,
}

impl Options {
    /// Reads `--peer DOCKER --base TAR [--record] [--report FILE] [NAME…]`; options of a test harness do not matter.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Self {
        let mut options = Self::default();
        let (mut docker, mut base) = (None, None);
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || PathBuf::from(arguments.next().expect("a value"));
            match argument.as_str() {
                "--peer" => docker = Some(value()),
                "--base" => base = Some(value()),
                "--report" => options.report = Some(value()),
                "--record" => options.records = true,
                name if !name.starts_with('-') => options.names.push(argument),
                _ => {}
            }
        }
        options.peer = docker.map(|docker| Peer::new(docker, base.expect("--base")));
        assert!(options.peer.is_some() || !options.records, "only a peer can be recorded");
        options
    }

    /// Whether a case of this name is wanted.
    pub(crate) fn wants(&self, case: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| case.contains(name.as_str()))
    }
}
