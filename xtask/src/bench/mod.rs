//! `cargo xtask bench`: ours beside the programs that are installed. Rows in, tables out.
//!
//! In reading order: [`options`] and [`row`] say what is asked; [`lab`] makes surroundings in which daemons, mounts,
//! interfaces and packet filters of the programs cannot outlive the run, [`sweeper`] removes what can;
//! [`root`] hands everybody the same root file system, [`github`] the same [`repository`]; [`ours`] and [`peers`] drive the programs; [`contest`]
//! lets them take turns on the [`clock`]; [`rows`] puts the questions; [`samples`] and [`report`] make tables.
//!
//! Where conditions cannot be equal, they favour the other program: its overlay is mounted before the clock
//! starts and removed after it has stopped, and it sets up neither a user namespace nor a disk limit.

mod clock;
mod contest;
mod github;
mod lab;
mod options;
mod ours;
mod peers;
mod report;
mod repository;
mod root;
mod row;
mod rows;
mod samples;
mod sweeper;

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::{host, tool, workspace};

use contest::Outcome;
use options::Options;
use ours::Ours;
use row::{Reach, Row};

/// The hidden chore that runs inside a lab.
pub(crate) const LAB: &str = "__lab";
/// The hidden chore that cleans up after a run, however it ends.
pub(crate) const SWEEPER: &str = "__sweep";

pub(crate) use lab::inside as inside_lab;
pub(crate) use peers::CGROUP;
pub(crate) use sweeper::{Scratch, run as sweep};

/// Measures what `arguments` ask for and prints the tables.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    tool::print(&format!("{}\n", tables(arguments)?.trim_end()));
    Ok(())
}

/// Like [`run`], with the tables as the result.
pub(crate) fn tables(arguments: &[String]) -> Result<String, Failure> {
    match Options::parse(arguments)? {
        Some(options) => measure(&options),
        None => Ok(options::usage()),
    }
}

/// Measures and returns the tables.
fn measure(options: &Options) -> Result<String, Failure> {
    if !host::is_root() {
        return Err(Failure::unexpected("bench", "needs root, for namespaces and mounts"));
    }
    let scratch = Scratch::new()?;
    let home = options.home.clone().unwrap_or_else(|| scratch.path().join("home"));
    let ours = Ours::new(program(options)?, absolute(&home)?);
    scratch.will_clean(&ours)?;
    build_templates(&ours, &options.rows)?;

    let mut outcomes = Vec::new();
    for reach in [Reach::Closed, Reach::Open] {
        let rows: Vec<Row> = options.rows.iter().copied().filter(|row| row.reach() == reach).collect();
        if !rows.is_empty() {
            outcomes.extend(lab::measure(reach, &rows, options.runs, &ours, &scratch)?);
        }
    }
    if let Some(path) = &options.json {
        write_json(path, &outcomes)?;
    }
    Ok(report::markdown(&outcomes))
}

/// The release build of ours, or the program the caller wants measured.
fn program(options: &Options) -> Result<PathBuf, Failure> {
    if let Some(program) = &options.abx {
        return absolute(program);
    }
    workspace::release()
}

/// Builds the built-in templates the rows start from, with their progress on the terminal.
fn build_templates(ours: &Ours, rows: &[Row]) -> Result<(), Failure> {
    let mut templates: Vec<_> = rows.iter().filter_map(|row| row.template()).collect();
    templates.sort_unstable();
    templates.dedup();
    for template in templates {
        tool::run(&mut ours.command(&["template", "build", template]))?;
    }
    Ok(())
}

fn write_json(path: &Path, outcomes: &[Outcome]) -> Result<(), Failure> {
    std::fs::write(path, format!("{:#}\n", report::to_json(outcomes))).map_err(Failure::file(path))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(Failure::file(path))
}
