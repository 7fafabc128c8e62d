//! The questions, a file for each row.

mod bootstrap;
mod build;
mod burst;
mod capacity;
mod cells;
mod dockerfile;
mod echo;
mod exec;
mod fetch;
mod files;
mod memory;
mod package;
mod pool;
mod project;
mod science;
mod second_create;
mod soak;
mod start;
mod transfer;

use crate::bench::contest::Outcome;
use crate::bench::lab::Lab;
use crate::bench::row::Row;
use crate::failure::Failure;

/// What everybody runs to show that it is there.
pub(crate) const TRUE: [&str; 1] = ["/bin/true"];

/// Puts the questions of `row`.
pub(crate) fn run(row: Row, lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    match row {
        Row::StartNone => start::without_network(lab),
        Row::StartNet => start::with_network(lab),
        Row::Exec => exec::run(lab),
        Row::Burst => burst::run(lab),
        Row::Memory => memory::run(lab),
        Row::Capacity => capacity::run(lab),
        Row::Cells => cells::run(lab),
        Row::Files => files::run(lab),
        Row::Echo => echo::run(lab),
        Row::Pool => pool::run(lab),
        Row::Soak => soak::run(lab),
        Row::SecondCreate => second_create::run(lab),
        Row::Build => build::run(lab),
        Row::Dockerfile => dockerfile::run(lab, project::Kind::Packages),
        Row::Stages => dockerfile::run(lab, project::Kind::Stages),
        Row::Copy => dockerfile::run(lab, project::Kind::Files),
        Row::Science => science::run(lab),
        Row::Bootstrap => bootstrap::run(lab),
        Row::Fetch => fetch::run(lab),
        Row::Transfer => transfer::run(lab),
    }
}
