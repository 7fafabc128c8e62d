//! Dockerfiles built by us and by docker's BuildKit, and what came of them compared.
//!
//! ```text
//! dockerfiles/<case>
//!   │ case      the Dockerfile, its context, what is known of it
//!   │ ours      built by this crate         ┐
//!   │ peer      built by BuildKit           ├ outcome: lines of tree, configuration and history, or refused
//!   │ listing, config                       ┘
//!   ▼ verdict   the same, explained, or different
//! ```
//!
//! On its own it compares with what BuildKit made when the cases were recorded, over a small root of this host's
//! tools. With `--peer DOCKER --base TAR` it asks BuildKit itself, over a root file system in an archive; `--record`
//! then writes down what it says. `cargo xtask dockerfile-diff` does that.
//!
//! No test harness: this program is also the helper that runs the steps. Skips, and says why, without root.

mod case;
mod config;
mod listing;
mod options;
mod ours;
mod outcome;
mod peer;
mod report;
mod server;
mod verdict;

#[path = "../common/root.rs"]
mod root;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use case::Case;
use options::Options;
use ours::Ours;
use outcome::Outcome;
use report::Report;
use server::Server;
use verdict::Verdict;

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|first| first == abx_isolate::HELPER) {
        return ExitCode::from(abx_isolate::run_helper());
    }
    if std::env::args().nth(1).is_some_and(|first| first == abx_image::SYNC_HELPER) {
        return ExitCode::from(abx_image::run_sync(std::env::args_os().skip(2)));
    }
    let options = Options::parse(std::env::args().skip(1));
    if let Some(reason) = root::unfit() {
        say(&format!("skipped: {reason}"));
        return ExitCode::SUCCESS;
    }
    let work = tempfile::tempdir().expect("tempdir");
    let report = compare(&options, work.path());
    if let Some(path) = &options.report {
        std::fs::write(path, report.markdown()).expect("write the report");
    }
    say(&report.summary());
    if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Builds every case that is asked for, and says of each how it went.
fn compare(options: &Options, work: &Path) -> Report {
    let server = Server::start(&work.join("served"));
    let ours = Ours::new(work, options.peer.as_ref().map(|peer| peer.base.as_path()));
    let mut report = Report::default();
    for case in Case::all().into_iter().filter(|case| options.wants(&case.name)) {
        if let Some(program) = case.lacking() {
            say(&format!("test {} ... skipped: the host has no {program}", case.name));
            continue;
        }
        let place = case.prepare(work, &server);
        let our_outcome = ours.build(&case, &place);
        let recorded = case.recorded();
        let theirs = match &options.peer {
            Some(peer) => peer.build(&case, &place),
            None => recorded.clone().unwrap_or_else(|| panic!("{}: nothing is recorded", case.name)),
        };
        if options.records {
            case.record(&theirs, &our_outcome);
        }
        let is_current = options.records || recorded.as_ref() == Some(&theirs);
        let verdict = Verdict::of(&case, &our_outcome, &theirs, is_current);
        say(&format!("test {} ... {verdict}", case.name));
        report.add(&case, verdict, matches!(theirs, Outcome::Refused(_)));
    }
    report
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
