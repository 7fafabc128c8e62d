//! However it ends, nothing stays.

mod common;

use std::time::{Duration, Instant};

use abx_isolate::{Disk, IsolateError, Launch, Leftover, Network, Relays, Upper};
use common::{Place, assert_clean, can_launch, slot, start};
use rustix::process::{Pid, Signal, kill_process};

/// Uses everything a launch can leave something of.
fn whole(place: &Place, name: &str) -> Launch {
    let mut launch = place.launch(name, "echo ready; while :; do read line || :; done");
    launch.root.upper = Upper::Disk(Disk::new(place.disk(16)));
    launch.network = Network::Veth { slot: slot() };
    launch.limits.memory = Some(128);
    launch
}

#[test]
fn a_stopped_step_is_cleaned_up() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let launch = whole(&place, "stop");
    let (child, mut output) = start(&launch, &Relays::default());
    wait_for_ready(&mut output);
    child.stopper().expect("stopper").stop();
    assert_eq!(child.wait(), Err(IsolateError::Silent));
    assert_clean(&launch);
}

#[test]
fn a_killed_owner_takes_the_sandbox_with_it() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let launch = whole(&place, "killed");
    let (child, mut output) = start(&launch, &Relays::default());
    wait_for_ready(&mut output);
    kill_process(Pid::from_raw(child.id() as i32).expect("pid"), Signal::KILL).expect("kill");
    assert_eq!(child.wait(), Err(IsolateError::Silent));

    // All but the groups goes by itself; the kernel takes a moment for the network.
    let groups = Leftover::Cgroups { name: launch.name.clone() };
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let left = abx_isolate::leftovers(&[]).expect("leftovers");
        let mine: Vec<_> =
            left.into_iter().filter(|one| one.to_string().contains(&launch.name[..12])).collect();
        if mine == [groups.clone()] {
            break;
        }
        assert!(Instant::now() < deadline, "{mine:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(
        !abx_isolate::leftovers(&[&launch.name]).expect("leftovers").contains(&groups),
        "live names are spared"
    );
    abx_isolate::remove(&groups).expect("remove");
    abx_isolate::remove(&groups).expect("twice");
    assert_clean(&launch);
}

#[test]
fn killed_at_any_moment_the_owner_leaves_only_groups() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    for delay in 0..24 {
        let launch = place.launch("moment", "read line");
        let (child, _output) = start(&launch, &Relays::default());
        std::thread::sleep(Duration::from_micros(delay * 700));
        kill_process(Pid::from_raw(child.id() as i32).expect("pid"), Signal::KILL).expect("kill");
        let _ = child.wait();
        abx_isolate::remove(&Leftover::Cgroups { name: launch.name.clone() }).expect("remove");
        assert_clean(&launch);
    }
    // Neither a holder of a user namespace nor a half-made sandbox is left over.
    let deadline = Instant::now() + Duration::from_secs(5);
    while let Some(process) = stray(&std::env::current_exe().expect("exe")) {
        assert!(Instant::now() < deadline, "process {process} is left");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A helper process of this test program whose parent is gone.
fn stray(exe: &std::path::Path) -> Option<String> {
    let is_stray = |directory: &std::path::Path| {
        let command = std::fs::read_to_string(directory.join("cmdline")).ok()?;
        let status = std::fs::read_to_string(directory.join("status")).ok()?;
        let is_ours = std::fs::read_link(directory.join("exe")).ok()? == exe;
        (is_ours && command.contains(abx_isolate::HELPER) && status.contains("PPid:\t1\n")).then_some(())
    };
    let entries = std::fs::read_dir("/proc").expect("proc").flatten();
    entries
        .map(|entry| entry.path())
        .find(|path| is_stray(path).is_some())
        .map(|path| path.display().to_string())
}

fn wait_for_ready(output: &mut impl std::io::Read) {
    let mut text = [0; 6];
    output.read_exact(&mut text).expect("output");
    assert_eq!(&text, b"ready\n");
}
