//! Limits hold, and who runs into one is told which.

use super::shared;

const HOG: &str = "x = bytearray(600 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('survived')";

#[test]
fn a_memory_hog_is_killed_and_its_caller_told_the_limit() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--memory", "160"]);
    sandbox.sh("nohup sleep 1004 >/dev/null 2>&1 &");
    let ran = sandbox.exec(&["python3", "-c", HOG]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(137), ""), "{ran:#?}");
    let told = ran.stderr.lines().any(|line| line.starts_with("error[E3010]: ") && line.contains("160 MB"));
    assert!(told, "{ran:#?}");
    assert!(ran.stderr.contains("--memory"), "what to do is said: {ran:#?}");
    // The others live on.
    sandbox.sh("pgrep -f 'sleep 1004'");
    assert_eq!(sandbox.info()["status"], "running");
}

#[test]
fn under_json_the_limit_is_the_error_object_beside_the_commands_value() {
    let Some(abx) = shared() else { return };
    let words = [
        "--json",
        "create",
        "--rm",
        "base",
        "--network",
        "none",
        "--memory",
        "160",
        "--",
        "python3",
        "-c",
        HOG,
    ];
    let ran = abx.run(&words);
    assert_eq!(ran.status, Some(137), "{ran:#?}");
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).expect("one object");
    assert_eq!(error["code"], "E3010");
    assert_eq!(ran.json()["exit_status"], 137);
}

#[test]
fn a_disk_writer_gets_no_space_left_at_the_limit() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--disk", "300"]);
    let ran = sandbox.exec(&["sh", "-c", "head -c 400M /dev/zero > /app/large"]);
    assert_ne!(ran.status, Some(0));
    assert!(ran.stderr.contains("No space left on device"), "{ran:#?}");
    let written: u64 = sandbox.sh("stat -c %s /app/large").trim().parse().expect("a number");
    assert!((200 << 20..300 << 20).contains(&written), "{written}");
    // Neither the image nor the sandbox is any the worse.
    assert_eq!(sandbox.sh("rm /app/large; echo again > /app/small; cat /app/small"), "again\n");
}

#[test]
fn files_elsewhere_count_as_memory_or_disk() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--disk", "300", "--memory", "200"]);
    for folder in ["/tmp", "/var/tmp", "/home/user", "/dev/shm"] {
        let ran = sandbox.exec(&["sh", "-c", &format!("head -c 600M /dev/zero > {folder}/large")]);
        assert_ne!(ran.status, Some(0), "{folder} takes more than the limits: {ran:#?}");
        sandbox.sh(&format!("rm -f {folder}/large"));
    }
}

#[test]
fn the_number_of_processes_is_limited() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--memory", "4096"]);
    let script = "import os, time, sys\ncount = 0\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(1000)\n        \
                  count += 1\nexcept OSError as error:\n    print(count, error.strerror)\n    sys.stdout.flush()\n    os.killpg(0, 9)";
    let ran = sandbox.exec(&["python3", "-c", script]);
    let (count, reason) = ran.stdout.trim().split_once(' ').expect("a count and a reason");
    let count: u32 = count.parse().expect("a number");
    assert!((1900..2048).contains(&count), "{ran:#?}");
    assert_eq!(reason, "Resource temporarily unavailable");
    assert_eq!(sandbox.sh("echo fine"), "fine\n");
}

#[test]
fn processor_time_is_limited() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--cpu", "0.2"]);
    // What the kernel gives, not how fast this machine is: processor seconds by seconds on the clock.
    let script = "import time\nbegin = time.monotonic()\nwhile time.process_time() < 0.4: pass\nprint(time.process_time() / (time.monotonic() - begin))";
    let share: f64 = sandbox.exec(&["python3", "-c", script]).success().trim().parse().expect("a number");
    assert!(share < 0.35, "{share} of a processor, though 0.2 are allowed");
}

#[test]
fn a_limit_out_of_bounds_is_refused() {
    let Some(abx) = shared() else { return };
    for (option, value) in [("--cpu", "65"), ("--memory", "1"), ("--disk", "1"), ("--timeout", "9999999")] {
        let stderr = abx.run(&["create", "base", option, value]).failure(2, "E2004");
        assert!(stderr.contains(option) && stderr.contains(value), "{stderr}");
    }
    for (option, value) in
        [("--cpu", "0"), ("--cpu", "nan"), ("--memory", "0"), ("--memory", "1PB"), ("--timeout", "-1")]
    {
        let ran = abx.run(&["create", "base", option, value]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{option} {value}: {ran:#?}");
    }
}

#[test]
fn cells_and_named_commands_that_the_limit_ends_tell_it() {
    let Some(abx) = shared() else { return };
    let template = abx.template("hog", "base: {from: base}\n");
    let body = HOG.replace('\n', "\n    ");
    abx.write(
        "hog/commands.py",
        format!("from agent_sandbox import sandbox\n\n@sandbox.register\ndef hog():\n    {body}\n"),
    );
    let sandbox = abx.create(&[&template, "--network", "none", "--memory", "160"]);
    for (words, failure) in [(["code", HOG], "KernelEnded"), (["run", "hog"], "ended during `hog`")] {
        let said = abx.run(&[words[0], &sandbox.id, words[1]]).failure(6, "E3010");
        assert!(said.contains("160 MB") && said.contains(failure), "{words:?}: {said}");
    }
    assert_eq!(abx.run(&["code", &sandbox.id, "1"]).success(), "1\n", "the next one has a kernel");
}
