//! Dockerfiles built for real, over a small root made of this host's shell and a few tools.
//!
//! No test harness: this program is also the helper that runs the steps. Skips, and says why, without root.

mod adding;
mod basics;
mod config;
mod copying;
mod running;
mod stages;
mod world;

#[path = "../common/root.rs"]
mod root;

use std::io::Write;
use std::process::ExitCode;

/// A name and what must hold.
type Case = (&'static str, fn());

/// The cases of every module.
const ALL: &[&[Case]] = &[basics::ALL, stages::ALL, copying::ALL, adding::ALL, running::ALL, config::ALL];

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|first| first == abx_isolate::HELPER) {
        return ExitCode::from(abx_isolate::run_helper());
    }
    if std::env::args().nth(1).is_some_and(|first| first == abx_image::SYNC_HELPER) {
        return ExitCode::from(abx_image::run_sync(std::env::args_os().skip(2)));
    }
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    if let Some(reason) = root::unfit() {
        say(&format!("skipped: {reason}"));
        return ExitCode::SUCCESS;
    }
    for (name, case) in ALL.iter().copied().flatten() {
        if wanted.as_ref().is_none_or(|wanted| name.contains(wanted.as_str())) {
            case();
            say(&format!("test {name} ... ok"));
        }
    }
    ExitCode::SUCCESS
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
