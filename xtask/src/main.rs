//! Project chores: `cargo xtask <chore>` in, a report on the terminal and an exit status out.
//!
//! In reading order: [`chore`] is the list of what there is; [`test`](mod@test), [`tidy`] and [`ci`] are what every
//! change must pass; [`bench`] measures ours beside other programs; [`dockerfile_diff`], [`fuzz`], [`kill_rounds`], [`templates`] and [`full`] are the
//! longer things, run by hand.
//!
//! **Architecture Invariant:** no crate of the workspace is a dependency, and nothing but `serde_json` from
//! outside: `cargo xtask` must start at once on a fresh checkout, and the harness knows `abx` only as its users do.

mod apt;
mod bench;
mod chore;
mod ci;
mod dockerfile_diff;
mod failure;
mod full;
mod fuzz;
mod host;
mod kill_rounds;
mod templates;
mod test;
mod tidy;
mod tool;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match chore::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tool::say(&format!("xtask: {failure}"));
            ExitCode::FAILURE
        }
    }
}
