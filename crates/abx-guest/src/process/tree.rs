//! Ending a process with all it started.

use std::collections::{HashMap, HashSet};

use rustix::process::{Pid, Signal, kill_process};

/// A tree that starts processes faster than we look is given up after so many looks.
const LOOKS: usize = 16;

/// Kills a session leader and everything it started, whatever process groups or sessions they are in by
/// now: its descendants by parenthood, and those of its session whose parents are gone. Only a process that
/// left the session and whose parents are gone (a daemon proper) is no longer told apart from others.
pub(crate) fn kill(leader: Pid) {
    let leader = leader.as_raw_nonzero().get();
    let mut members = HashSet::from([leader]);
    for _ in 0..LOOKS {
        let processes = snapshot();
        grow(&mut members, leader, &processes);
        let alive: Vec<i32> =
            members.iter().copied().filter(|pid| processes.get(pid).is_some_and(|p| !p.ended)).collect();
        if alive.is_empty() {
            return;
        }
        for pid in alive.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

struct Entry {
    parent: i32,
    session: i32,
    ended: bool,
}

fn grow(members: &mut HashSet<i32>, leader: i32, processes: &HashMap<i32, Entry>) {
    loop {
        let before = members.len();
        for (pid, process) in processes {
            if process.session == leader || members.contains(&process.parent) {
                members.insert(*pid);
            }
        }
        if members.len() == before {
            return;
        }
    }
}

fn snapshot() -> HashMap<i32, Entry> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashMap::new() };
    entries
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, parse(&stat)?))
        })
        .collect()
}

/// The command's name may hold anything, so fields count from the last parenthesis.
fn parse(stat: &str) -> Option<Entry> {
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Entry { parent, session, ended })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_name_cannot_forge_fields() {
        let entry = parse("12 (a) Z 1 1) S 3 4 5 0 -1\n").expect("an entry");
        assert_eq!((entry.parent, entry.session, entry.ended), (3, 5, false));
        assert!(parse("12 (a").is_none());
    }
}
