//! A character typed into a terminal of a running sandbox, until it is shown.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use crate::bench::clock::quiet;
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::peers::SLEEP;
use crate::failure::Failure;
use crate::tool;

const ROUNDS: usize = 200;

/// Answers each character with its capital, at once.
const CAPITALS: [&str; 3] = [
    "python3",
    "-c",
    "import os, tty; tty.setraw(0); os.write(1, b\"READY\"); [os.write(1, os.read(0, 1).upper()) for _ in iter(int, 1)]",
];

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let root = lab.root("base")?;
    let mut contest = Contest::new(
        "terminal-echo",
        "A character typed into a terminal of a running sandbox, until its answer is shown: a program in the foreground \
         gives it back as a capital, so that no echo on this side counts. All are driven through `script`, which has \
         the terminal on this side.",
        Unit::Seconds,
    );
    let id = lab.ours().create("base")?;
    let mut ours =
        Session::open(&lab.ours().command(&[&["exec", "-it", &id, "--"], &CAPITALS[..]].concat()))?;
    contest.add("abx exec -it", move || ours.echo());
    match lab.podman(&root) {
        Ok((podman, image)) => {
            quiet(&mut podman.run("none", &["--detach", "--name", "echo"], &image, &SLEEP))?;
            let mut session =
                Session::open(&podman.command(&[&["exec", "-it", "echo"], &CAPITALS[..]].concat()))?;
            contest.add("podman exec -it", move || session.echo());
        }
        Err(reason) => contest.skip("podman", reason),
    }
    match lab.docker(&root) {
        Ok((docker, image)) => {
            quiet(&mut docker.run("none", &["--detach", "--name", "echo"], &image, &SLEEP))?;
            let mut session =
                Session::open(&docker.command(&[&["exec", "-it", "echo"], &CAPITALS[..]].concat()))?;
            contest.add("docker exec -it", move || session.echo());
        }
        Err(reason) => contest.skip("docker", reason),
    }
    let outcome = contest.run(lab.rounds(ROUNDS));
    lab.ours().kill(&id);
    if let Ok((podman, _)) = lab.podman(&root) {
        podman.remove("echo");
    }
    if let Ok((docker, _)) = lab.docker(&root) {
        docker.remove("echo");
    }
    Ok(vec![outcome])
}

/// A program with a terminal in front of it; ends when dropped.
struct Session {
    child: Child,
    typed: ChildStdin,
    shown: ChildStdout,
}

impl Session {
    fn open(command: &Command) -> Result<Self, Failure> {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let line: Vec<_> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
        let mut script = Command::new("script");
        script.args(["--quiet", "--flush", "--command", &format!("exec {}", line.join(" ")), "/dev/null"]);
        script.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = script.spawn().map_err(|source| tool::start_failure(&script, source))?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let (typed, shown) = ends.ok_or_else(|| Failure::unexpected("script", "has no pipes"))?;
        let mut session = Self { child, typed, shown };
        session.read_to(b'Y')?;
        Ok(session)
    }

    fn echo(&mut self) -> Result<f64, Failure> {
        let start = Instant::now();
        self.typed.write_all(b"x").map_err(broken)?;
        self.read_to(b'X')?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn read_to(&mut self, wanted: u8) -> Result<(), Failure> {
        let mut byte = [0];
        while byte != [wanted] {
            self.shown.read_exact(&mut byte).map_err(broken)?;
        }
        Ok(())
    }
}

fn broken(error: std::io::Error) -> Failure {
    Failure::unexpected("the terminal", error.to_string())
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
