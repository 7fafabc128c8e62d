//! Whatever process of ours is killed, and whenever: afterwards `abx doctor --clean` leaves no mount, process,
//! control group, interface, loop device or half entry, and a second run works.
//!
//! Each round starts an `abx create` of one of the [`plots`], kills one process after a random time, cleans up and
//! compares the [`census`] with the one before. A bystander, a sandbox of the same state directory, lives through all
//! of it, and a persistent one that is stopped keeps its files. The rounds run in namespaces of their own (the [`lab`]), so that the census counts nobody else's.
//!
//! `ABX_KILL_ROUNDS` sets the number of rounds, `ABX_KILL_SEED` repeats a run's choices.

#![expect(clippy::print_stdout, reason = "the rounds and the seed are the record of a run")]

mod census;
mod dice;
mod lab;
mod plots;

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use census::Census;
use dice::Dice;
use lab::Abx;
use plots::{BYSTANDER, KEPT, Plot};

/// Enough to meet each plot and each kind of process a few times.
const ROUNDS: u32 = 25;

/// The longest a command may take that has lost a process it waits for.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn killed_at_random() {
    if let Some(reason) = lab::lacking() {
        println!("skipped: {reason}");
    } else if lab::is_inside() {
        rounds();
    } else {
        lab::enter("killed_at_random");
    }
}

fn rounds() {
    lab::furnish();
    let abx = Abx::from_environment();
    let rounds = number("ABX_KILL_ROUNDS").map_or(ROUNDS, |rounds| rounds as u32);
    let mut dice = Dice::new(number("ABX_KILL_SEED").unwrap_or_else(dice::seed_of_now));
    let seed = dice.seed();
    println!("kill: {rounds} rounds, seed {seed}");

    let create = |template: &str, name: &str| {
        let lasting = ["--network", "none", "--timeout", "0", "--idle-timeout", "0"];
        abx.expect(&[["create", template, "--name", name].as_slice(), &lasting].concat());
    };
    create("./plain", BYSTANDER);
    create("./persistent", KEPT);
    abx.expect(&["exec", BYSTANDER, "--", "sh", "-c", "head -c 10000000 /dev/urandom > ~/bulk"]);
    abx.expect(&["exec", KEPT, "--", "sh", "-c", "echo whole > ~/kept"]);
    stop_kept(&abx);
    let before = Census::take(&abx);
    let mut victims = BTreeMap::<String, u32>::new();
    for round in 0..rounds {
        let plot = Plot::pick(&mut dice);
        let story = play(&abx, plot, round, &mut dice, &before);
        *victims.entry(story.victim.clone()).or_default() += 1;
        let told = format!("round {round} of seed {seed}: {plot:?}, {story}");
        tidy_up(&abx, plot, &told);
        before.expect_again(&abx, &told);
        assert_eq!(abx.expect(&["exec", BYSTANDER, "--", "echo", "here"]), "here\n", "{told}");
        assert_eq!(abx.expect(&plot.second_run()), "whole\n", "{told}");
        stop_kept(&abx);
        before.expect_again(&abx, &told);
    }
    let victims: Vec<_> = victims.iter().map(|(name, times)| format!("{times} {name}")).collect();
    println!("kill: nothing left behind; killed: {}", victims.join(", "));
    abx.expect(&["kill", BYSTANDER, KEPT]);
}

/// Stops the persistent sandbox as a host does that shuts down, and waits until its monitor is gone too.
fn stop_kept(abx: &Abx) {
    let info = || -> serde_json::Value {
        serde_json::from_str(&abx.expect(&["info", KEPT, "--json"])).expect("JSON")
    };
    let begun = Instant::now();
    loop {
        let info = info();
        let record =
            abx.home().join("sandboxes").join(info["id"].as_str().expect("an id")).join("sandbox.json");
        let record: serde_json::Value =
            serde_json::from_slice(&std::fs::read(record).expect("a record")).expect("JSON");
        let pid = record["monitor"].as_u64().expect("a pid") as u32;
        let is_gone = !std::path::Path::new(&format!("/proc/{pid}")).exists();
        if info["status"] == "stopped" && is_gone {
            return;
        }
        if info["status"] != "stopped" {
            census::Process { pid, name: String::new() }.send("TERM");
        }
        assert!(begun.elapsed() < PATIENCE, "it does not stop");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What happened in a round.
struct Story {
    victim: String,
    signal: &'static str,
    after: Duration,
    /// How the command ended.
    end: String,
}

impl std::fmt::Display for Story {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} got {} after {:?}; {}", self.victim, self.signal, self.after, self.end)
    }
}

/// Starts the plot, kills one process of it, and waits for the command to end.
fn play(abx: &Abx, plot: Plot, round: u32, dice: &mut Dice, before: &Census) -> Story {
    plot.prepare(abx, round);
    let log = std::fs::File::create(abx.folder().join("log")).expect("log");
    let mut command = abx.command(&plot.command());
    command.stdout(log.try_clone().expect("log")).stderr(log).stdin(Stdio::null());
    let mut child = command.spawn().expect("abx starts");
    let after = dice.duration(plot.length());
    std::thread::sleep(after);
    let victims = before.newcomers();
    let (victim, signal) = match dice.pick(&victims) {
        Some(victim) => {
            // Only the command is somebody's to interrupt.
            let is_interrupt = victim.pid == child.id() && dice.one_in(3);
            let signal = if is_interrupt { "INT" } else { "KILL" };
            victim.send(signal);
            (victim.name.clone(), signal)
        }
        None => ("nobody".to_owned(), "nothing"),
    };
    let end = wait(&mut child);
    let log = std::fs::read_to_string(abx.folder().join("log")).unwrap_or_default();
    Story { victim, signal, after, end: format!("{end}\n{log}") }
}

/// A command that has lost a process it waits for must notice.
fn wait(child: &mut Child) -> String {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("wait") {
            return status.to_string();
        }
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("abx still waits after {PATIENCE:?} for a process that was killed");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ends what is alive, as a user would, and cleans up.
fn tidy_up(abx: &Abx, plot: Plot, told: &str) {
    stop_kept(abx);
    if plot == Plot::Pool {
        // There may be none.
        let _ = abx.command(&["pool", "./plain", "--size", "0"]).output();
    }
    let list: serde_json::Value = serde_json::from_str(&abx.expect(&["list", "--json"])).expect("JSON");
    for sandbox in list.as_array().expect("a list") {
        let id = sandbox["id"].as_str().expect("an id");
        if sandbox["name"] != BYSTANDER && sandbox["name"] != KEPT {
            // It may end by itself meanwhile.
            let _ = abx.command(&["kill", id]).output();
        }
    }
    let output = abx.command(&["doctor", "--clean"]).output().expect("abx runs");
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number: {text}")))
}
