//! Runs a `Launch` given as JSON with the caller's streams: `launch FILE [ROUNDS]`. With rounds it is launched
//! again and again and the times are printed. As `launch isolate-step` it is the helper of `spawn_step`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its user")]

use std::process::ExitCode;
use std::time::Instant;

use abx_isolate::{HELPER, IsolateError, Launch, Relays};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(first) = arguments.next() else { return ExitCode::from(2) };
    if first == HELPER {
        return ExitCode::from(abx_isolate::run_helper());
    }
    let text = std::fs::read_to_string(&first).expect("a readable file");
    let launch: Launch = serde_json::from_str(&text).expect("a Launch");
    let rounds = arguments.next().map(|rounds| rounds.parse().expect("a number"));
    match rounds {
        None => report(run(&launch)),
        Some(rounds) => report(measure(&launch, rounds)),
    }
}

fn report(result: Result<u8, IsolateError>) -> ExitCode {
    result.map_or_else(
        |error| {
            eprintln!("{error:?}: {error}");
            ExitCode::from(125)
        },
        ExitCode::from,
    )
}

fn run(launch: &Launch) -> Result<u8, IsolateError> {
    let mut running = abx_isolate::launch(launch, &Relays::default())?;
    let ended = running.wait()?;
    running.cleanup()?;
    Ok(ended.code())
}

fn measure(launch: &Launch, rounds: usize) -> Result<u8, IsolateError> {
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let start = Instant::now();
        let mut running = abx_isolate::launch(launch, &Relays::default())?;
        times[0].push(start.elapsed());
        running.wait()?;
        times[1].push(start.elapsed());
        running.cleanup()?;
        times[2].push(start.elapsed());
    }
    for (name, mut times) in ["started", "ended", "cleaned"].into_iter().zip(times) {
        times.sort_unstable();
        let at = |share: usize| times[(times.len() - 1) * share / 100];
        println!("{name:8} min {:?} median {:?} p95 {:?} max {:?}", at(0), at(50), at(95), at(100));
    }
    Ok(0)
}
