//! The list of chores.

use crate::failure::Failure;
use crate::{bench, ci, dockerfile_diff, full, fuzz, kill_rounds, templates, test, tidy, tool};

const USAGE: &str = "\
Usage: cargo xtask CHORE

  test [ARG…]              all tests; says first what this host lacks (ARGs go to cargo test)
  ci                       formatting, lints, tidy, test: what every change must pass
  tidy                     the rules of the project that a program can check
  bench [ROW…] [OPTIONS]   ours beside the programs that are installed; --help lists rows and options
  fuzz [TARGET…] [OPTIONS] any bytes for the readers of foreign text; --help lists targets and options
  dockerfile-diff [CASE…] [--record]  Dockerfiles built by us and by docker's BuildKit, and compared
  templates [--abx PROGRAM] build and test the templates that come with the program; writes benches/results/templates.md
  kill-rounds N [SEED]     kill our processes at random, N times, and look for what is left behind
  soak [N]                 N creates and kills (1000 where absent), ten at a time; what is left behind is an error
  full                     everything slow; writes benches/results/full.md
";

/// Runs the chore named by `arguments`.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some((chore, rest)) = arguments.split_first() else {
        return Err(Failure::Usage(USAGE.to_owned()));
    };
    match (chore.as_str(), rest) {
        ("test", rest) => test::run(rest),
        ("ci", []) => ci::run(),
        ("tidy", []) => tidy::run(),
        ("bench", rest) => bench::run(rest),
        ("fuzz", rest) => fuzz::run(rest),
        ("dockerfile-diff", rest) => dockerfile_diff::run(rest),
        ("templates", rest) => templates::run(rest),
        ("kill-rounds", rest) => kill_rounds::run(rest),
        ("soak", []) => bench::run(&["soak".to_owned()]),
        ("soak", [rounds]) => bench::run(&["soak", "--runs", rounds].map(str::to_owned)),
        ("full", []) => full::run(),
        (bench::LAB, rest) => bench::inside_lab(rest),
        (bench::SWEEPER, rest) => bench::sweep(rest),
        ("help" | "-h" | "--help", _) => {
            tool::print(USAGE);
            Ok(())
        }
        _ => Err(Failure::Usage(format!("no chore `{}`\n\n{USAGE}", arguments.join(" ")))),
    }
}
