//! Limits hold, and the caller is told which one was hit.

mod common;

use std::time::Duration;

use abx_isolate::{Cgroups, Disk, Limits, Relays, StepEnd, Upper};
use common::{Place, assert_clean, can_launch, run, start};

#[test]
fn a_memory_hog_is_killed_and_the_limit_named() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let mut launch = place.launch("hog", "probe probe hog 200");
    launch.limits.memory = Some(64);
    assert_eq!(run(&launch).0, StepEnd::OutOfMemory { limit: 64 });
    assert_clean(&launch);
    launch = place.launch("modest", "probe probe hog 20");
    launch.limits.memory = Some(256);
    assert_eq!(run(&launch).0, StepEnd::Exited(0));
}

#[test]
fn files_in_memory_count_too() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let mut launch = place.launch("shm", "dd if=/dev/zero of=/dev/shm/x bs=1M count=100");
    launch.limits.memory = Some(64);
    let (end, output) = run(&launch);
    assert!(matches!(end, StepEnd::OutOfMemory { .. } | StepEnd::Exited(1)), "{end:?} {output}");
}

#[test]
fn processes_are_counted() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let mut launch = place.launch("pids", "probe probe fork 100");
    launch.limits.pids = Some(20);
    let (end, output) = run(&launch);
    assert_eq!(end, StepEnd::Exited(1), "{output}");
    assert!(output.contains("temporarily unavailable"), "{output}");
    assert_clean(&launch);
}

#[test]
fn a_full_disk_is_full_for_the_writer_alone() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let mut launch =
        place.launch("disk", "dd if=/dev/zero of=/big bs=1M count=200; stat -c %u /big; echo after");
    launch.root.upper = Upper::Disk(Disk::new(place.disk(32)));
    let (end, output) = run(&launch);
    assert_eq!(end, StepEnd::Exited(0), "{output}");
    assert!(output.contains("No space left on device") && output.ends_with("0\nafter\n"), "{output}");
    assert_clean(&launch);
    // What was written is still there.
    let mut again = place.launch("again", "stat -c %u /big");
    again.root.upper = launch.root.upper;
    assert_eq!(run(&again), (StepEnd::Exited(0), "0\n".to_owned()));
}

#[test]
fn another_process_sees_freezes_and_kills() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let mut launch = place.launch("watched", "echo ready; read line; echo woken; read line");
    launch.limits = Limits { cpu: Some(0.5), memory: Some(128), pids: Some(50) };
    let (mut child, mut output) = start(&launch, &Relays::default());
    let mut stdin = child.take_stdin().expect("stdin");
    read_until(&mut output, "ready\n");

    let cgroups = Cgroups::open(&launch.name).expect("groups");
    let stats = cgroups.stats();
    assert_eq!(stats.memory_limit, Some(128 << 20));
    assert!(stats.memory.is_some_and(|memory| memory > 0 && memory < 128 << 20), "{stats:?}");
    assert_eq!(stats.pids, Some(2));

    cgroups.freeze().expect("freeze");
    std::io::Write::write_all(&mut stdin, b"\n").expect("line");
    std::thread::sleep(Duration::from_millis(50));
    cgroups.thaw().expect("thaw");
    read_until(&mut output, "woken\n");

    cgroups.freeze().expect("freeze");
    cgroups.kill_all().expect("kill");
    assert_eq!(child.wait(), Ok(StepEnd::Signaled(9)));
    assert_clean(&launch);
    cgroups.remove().expect("removed already");
}

fn read_until(output: &mut impl std::io::Read, end: &str) {
    let mut text = Vec::new();
    while !text.ends_with(end.as_bytes()) {
        let mut byte = [0];
        let length = output.read(&mut byte).expect("output");
        assert_eq!(length, 1, "ended after {:?}", String::from_utf8_lossy(&text));
        text.push(byte[0]);
    }
}
