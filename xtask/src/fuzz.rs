//! `cargo xtask fuzz`: libFuzzer around the readers of foreign text.
//!
//! What is kept in `fuzz/corpus/<target>/` is where it starts. What it comes to meanwhile lies in the target folder,
//! and so does an input that makes a target panic; put that one into the kept corpus, under a name that says what
//! it is.

mod build;
mod keep;
mod options;
mod run;

use crate::failure::Failure;
use crate::{tool, workspace};
use build::Programs;
use options::Options;

/// Runs the targets that `arguments` name, each for some time.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let targets = targets()?;
    let Some(options) = Options::parse(arguments, &targets)? else {
        tool::print(&options::usage(&targets));
        return Ok(());
    };
    if let Some(reason) = lacking() {
        return Err(Failure::unexpected("fuzz", reason));
    }
    tool::print(&all(&options)?);
    Ok(())
}

/// Every target for so many seconds, as a table. Where this host cannot, the text says why.
pub(crate) fn table(seconds: u32) -> Result<String, Failure> {
    match lacking() {
        Some(reason) => Ok(format!("Not run: {reason}.\n")),
        None => all(&Options { targets: targets()?, seconds, keeps: false }),
    }
}

/// Why there can be no fuzzing here. No toolchain but the usual one is needed.
fn lacking() -> Option<String> {
    let compiler = tool::find("c++").is_none();
    compiler.then(|| "no C++ compiler for libFuzzer (apt-get install g++)".to_owned())
}

fn all(options: &Options) -> Result<String, Failure> {
    let programs = Programs::build()?;
    let mut table = "| target | inputs tried | a second | branches reached |\n|---|---|---|---|\n".to_owned();
    let mut failures = 0;
    for target in &options.targets {
        match run::target(&programs, target, options.seconds)? {
            Some(ran) => table += &ran.row(target),
            None => failures += 1,
        }
        if options.keeps {
            run::keep(&programs, target)?;
        }
    }
    if failures > 0 {
        return Err(Failure::Problems(failures));
    }
    Ok(table)
}

/// The names of all targets.
fn targets() -> Result<Vec<String>, Failure> {
    let folder = workspace::root().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in folder.read_dir().map_err(Failure::file(&folder))? {
        let name = entry.map_err(Failure::file(&folder))?.file_name();
        names.extend(name.to_string_lossy().strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}
