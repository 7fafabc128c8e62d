//! What is going on when the blow falls.

use std::path::Path;
use std::time::Duration;

use crate::dice::Dice;
use crate::lab::Abx;

/// An `abx create`, and the phase of it that takes longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plot {
    /// Launch without a network.
    Plain,
    /// Launch with one: interfaces, addresses, packet filter, relays.
    Network,
    /// A command in the foreground.
    Foreground,
    /// A build step that writes files.
    Build,
    /// A readiness probe that does not pass yet.
    Readiness,
    /// The start of a persistent sandbox that is stopped.
    Resume,
    /// A copy of what a sandbox has written, which stands still meanwhile.
    Snapshot,
    /// A pool that is being filled.
    Pool,
}

const ALL: [Plot; 8] = [
    Plot::Plain,
    Plot::Network,
    Plot::Foreground,
    Plot::Build,
    Plot::Readiness,
    Plot::Resume,
    Plot::Snapshot,
    Plot::Pool,
];

/// The name of the sandbox that nothing happens to.
pub(crate) const BYSTANDER: &str = "bystander";

/// The name of the persistent sandbox, which is stopped between the rounds.
pub(crate) const KEPT: &str = "kept";

/// Files the build step writes; the second run counts them.
const FILES: u32 = 20;

/// Writes the folders of templates the plots use. The base must be in the store.
pub(crate) fn write_templates(folder: &Path) {
    template(folder, "plain", "base:\n  image: debian:bookworm-slim\n");
    template(folder, "persistent", "base:\n  image: debian:bookworm-slim\nsandbox:\n  mode: persistent\n");
    template(folder, "build", &with_build_step(0));
    let readiness = "base:\n  image: debian:bookworm-slim\nsandbox:\n  startup_command: \"sleep 0.4; touch /tmp/ready; \
                     sleep 60\"\n  readiness_probe:\n    type: exec\n    command: \"test -e /tmp/ready\"\n";
    template(folder, "readiness", readiness);
}

fn template(folder: &Path, name: &str, rest: &str) {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).expect("folder");
    let text = format!("version: \"1\"\nmetadata:\n  name: {name}\n{rest}");
    std::fs::write(folder.join("template.yaml"), text).expect("template");
}

fn with_build_step(round: u32) -> String {
    format!(
        "base:\n  image: debian:bookworm-slim\nbuild:\n  run:\n    - |\n      mkdir /built\n      for i in $(seq {FILES}); do \
         head -c 1000000 /dev/zero > /built/{round}-$i; sleep 0.02; done\n"
    )
}

impl Plot {
    pub(crate) fn pick(dice: &mut Dice) -> Self {
        *dice.pick(&ALL).expect("there are plots")
    }

    /// Sees to it that what is to be made has not been made before.
    pub(crate) fn prepare(self, abx: &Abx, round: u32) {
        if self == Self::Build {
            template(abx.folder(), "build", &with_build_step(round + 1));
        }
    }

    /// The words after `abx`.
    pub(crate) fn command(self) -> Vec<&'static str> {
        match self {
            Self::Plain => vec!["create", "./plain", "--network", "none"],
            Self::Network => vec!["create", "./plain", "--port", "0:8080"],
            Self::Foreground => vec!["create", "./plain", "--network", "none", "--rm", "--", "sleep", "0.3"],
            Self::Build => vec!["create", "./build", "--network", "none"],
            Self::Readiness => vec!["create", "./readiness", "--network", "none"],
            Self::Resume => vec!["exec", KEPT, "--", "sh", "-c", "cat ~/kept"],
            Self::Snapshot => vec!["snapshot", BYSTANDER, "shot"],
            Self::Pool => vec!["pool", "./plain", "--size", "3"],
        }
    }

    /// About how long it takes, and a little more.
    pub(crate) fn length(self) -> Duration {
        Duration::from_millis(match self {
            Self::Plain => 150,
            Self::Network => 200,
            Self::Foreground => 500,
            Self::Build => 1200,
            Self::Readiness => 700,
            Self::Resume => 200,
            Self::Snapshot => 150,
            Self::Pool => 400,
        })
    }

    /// The words of a second run, which says `whole` where it got all there should be.
    pub(crate) fn second_run(self) -> Vec<&'static str> {
        match self {
            Self::Build => vec![
                "create",
                "./build",
                "--network",
                "none",
                "--rm",
                "--",
                "sh",
                "-c",
                "test $(cat /built/* | wc -c) = 20000000 && echo whole",
            ],
            Self::Readiness => {
                vec![
                    "create",
                    "./readiness",
                    "--network",
                    "none",
                    "--rm",
                    "--",
                    "sh",
                    "-c",
                    "test -e /tmp/ready && echo whole",
                ]
            }
            Self::Network => vec!["create", "./plain", "--port", "0:8080", "--rm", "--", "echo", "whole"],
            Self::Resume => vec!["exec", KEPT, "--", "sh", "-c", "cat ~/kept"],
            Self::Snapshot => vec!["exec", BYSTANDER, "--", "echo", "whole"],
            Self::Plain | Self::Foreground | Self::Pool => {
                vec!["create", "./plain", "--network", "none", "--rm", "--", "echo", "whole"]
            }
        }
    }
}
