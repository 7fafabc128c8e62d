//! Cleaning up after a run, however it ends.
//!
//! A run gets a folder and, beside it, a *sweeper*: this program again, in a process group of its own, waiting on
//! a pipe. When the run ends, is interrupted or killed, the pipe closes and the sweeper removes what is
//! left: the lab's processes, our sandboxes, control groups, the folder. So there is one way to clean up, and it is used
//! each time.

use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::clock::attempt;
use crate::bench::ours::Ours;
use crate::bench::{SWEEPER, peers};
use crate::failure::Failure;

/// The folder of a run. Dropping it cleans up and waits for that.
pub(crate) struct Scratch {
    path: PathBuf,
    sweeper: Child,
    pipe: Option<ChildStdin>,
}

impl Scratch {
    /// A fresh folder with a short path (daemons put sockets there), and its sweeper.
    pub(crate) fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("abx-bench-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(Failure::file(&path))?;
        let program = std::env::current_exe().map_err(Failure::file(Path::new("/proc/self/exe")))?;
        let mut command = Command::new(program);
        command.arg(SWEEPER).arg(&path).process_group(0).stdin(Stdio::piped());
        let mut sweeper =
            command.spawn().map_err(|source| Failure::Start { program: SWEEPER.to_owned(), source })?;
        let pipe = sweeper.stdin.take();
        Ok(Self { path, sweeper, pipe })
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Our own state will be cleaned by our own means.
    pub(crate) fn will_clean(&self, ours: &Ours) -> Result<(), Failure> {
        self.tell(&format!("ours\t{}\t{}", ours.program().display(), ours.home().display()))
    }

    /// The lab in process `pid` runs now.
    pub(crate) fn lab_began(&self, pid: u32) -> Result<(), Failure> {
        self.tell(&format!("began\t{pid}"))
    }

    /// The lab in process `pid` has been waited for.
    pub(crate) fn lab_ended(&self, pid: u32) -> Result<(), Failure> {
        self.tell(&format!("ended\t{pid}"))
    }

    fn tell(&self, line: &str) -> Result<(), Failure> {
        let Some(mut pipe) = self.pipe.as_ref() else { return Ok(()) };
        writeln!(pipe, "{line}").map_err(Failure::file(Path::new("the sweeper's pipe")))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.pipe = None;
        let _ = self.sweeper.wait();
    }
}

/// The sweeper: reads what there will be to clean, waits for the end of the run, cleans.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let [folder] = arguments else { return Err(Failure::Usage(format!("{SWEEPER} FOLDER"))) };
    let mut labs: Vec<String> = Vec::new();
    let mut ours = None;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["began", pid] => labs.push(pid.to_owned()),
            ["ended", pid] => labs.retain(|lab| lab != pid),
            ["ours", program, home] => ours = Some(Ours::new(program.into(), home.into())),
            _ => {}
        }
    }
    for pid in labs {
        // The processes of a lab end with its first one.
        attempt(Command::new("kill").args(["-KILL", &pid]));
        wait_until(|| !Path::new("/proc").join(&pid).exists());
    }
    if let Some(ours) = ours {
        attempt(&mut ours.command(&["kill", "--all"]));
        attempt(&mut ours.command(&["doctor", "--clean"]));
    }
    wait_until(peers::remove_cgroups);
    wait_until(|| std::fs::remove_dir_all(folder).is_ok() || !Path::new(folder).exists());
    Ok(())
}

/// Tries for a while; processes that were killed take a moment to be gone.
fn wait_until(mut is_done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_done() && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(20));
    }
}
