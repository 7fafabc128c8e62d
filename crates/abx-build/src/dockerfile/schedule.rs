//! Stages at the same time, each as soon as those it waits for are done.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::project::Project;
use super::stage;
use crate::error::BuildError;

/// What the threads know of each other.
#[derive(Default)]
struct Board {
    /// Not begun yet, in the order of the graph.
    waiting: Vec<usize>,
    done: BTreeSet<usize>,
    at_work: usize,
    /// The first failure: it is the cause of the others.
    failed: Option<BuildError>,
}

/// Builds every stage the target needs.
///
/// # Errors
/// The first failure of a stage; the other stages are stopped then.
pub(super) fn build(project: &Project<'_>) -> Result<(), BuildError> {
    let stages = &project.graph.order;
    let board = Mutex::new(Board { waiting: stages.clone(), ..Board::default() });
    let changed = Condvar::new();
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(stages.len()).max(1);
    std::thread::scope(|scope| {
        // This thread is one of them.
        for _ in 1..threads {
            scope.spawn(|| work(project, &board, &changed));
        }
        work(project, &board, &changed);
    });
    let board = board.into_inner().unwrap_or_else(PoisonError::into_inner);
    match board.failed {
        Some(error) => Err(error),
        // Stages that wait for each other; the graph has none.
        None if board.done.len() < stages.len() => Err(BuildError::Defect),
        None => Ok(()),
    }
}

fn work(project: &Project<'_>, board: &Mutex<Board>, changed: &Condvar) {
    while let Some(number) = next(project, board, changed) {
        // Whoever waits for this stage must hear of its end, whatever that was.
        let built = catch_unwind(AssertUnwindSafe(|| stage::build(project, number)));
        let built = built.unwrap_or(Err(BuildError::Defect));
        let mut board = lock(board);
        board.at_work -= 1;
        match built {
            Ok(state) => {
                let _ = project.finished[number].set(state);
                board.done.insert(number);
            }
            Err(error) => {
                project.workshop.give_up();
                board.failed.get_or_insert(error);
            }
        }
        changed.notify_all();
    }
}

/// A stage that waits for nothing any more; `None` where there will be none.
fn next(project: &Project<'_>, board: &Mutex<Board>, changed: &Condvar) -> Option<usize> {
    let mut board = lock(board);
    loop {
        if board.failed.is_some() || board.waiting.is_empty() {
            return None;
        }
        let is_ready = |stage: &usize| {
            project.graph.links[*stage].after.iter().all(|before| board.done.contains(before))
        };
        if let Some(at) = board.waiting.iter().position(is_ready) {
            board.at_work += 1;
            return Some(board.waiting.remove(at));
        }
        // Nobody is left who could make one ready.
        if board.at_work == 0 {
            return None;
        }
        board = changed.wait(board).unwrap_or_else(PoisonError::into_inner);
    }
}

fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}
