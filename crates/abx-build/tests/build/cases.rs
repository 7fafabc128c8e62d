//! What a build must do.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use abx_build::{BuildError, Failure};
use abx_core::{Code, Event, Fault, Progress};

use crate::world::{Record, World, outcomes};

pub(crate) const ALL: [(&str, fn()); 12] = [
    ("a_template_is_built_once", a_template_is_built_once),
    ("what_was_built_is_written_to_disk", what_was_built_is_written_to_disk),
    ("a_changed_file_rebuilds_what_follows", a_changed_file_rebuilds_what_follows),
    ("a_failed_step_says_all_and_the_next_run_resumes", a_failed_step_says_all_and_the_next_run_resumes),
    ("the_script_runs_last_and_its_failure_shows", the_script_runs_last_and_its_failure_shows),
    ("a_step_that_takes_too_long_is_stopped", a_step_that_takes_too_long_is_stopped),
    ("a_step_over_its_memory_is_told_so", a_step_over_its_memory_is_told_so),
    ("dropping_the_build_stops_it", dropping_the_build_stops_it),
    ("two_builds_at_once_make_each_layer_once", two_builds_at_once_make_each_layer_once),
    ("without_cache_all_is_made_anew_and_stays", without_cache_all_is_made_anew_and_stays),
    ("caches_and_secrets_leave_no_trace", caches_and_secrets_leave_no_trace),
    ("offline_runs_commands_and_refuses_packages", offline_runs_commands_and_refuses_packages),
];

fn a_template_is_built_once() {
    let world = World::new();
    world
        .template(
            "  env: {GREETING: \"hello $WHO\", WHO: me, TWO: \"$WHO $$\"}\n  \
             copy: [{src: config, dest: /etc/mine/}, {src: tool.sh, dest: bin/}]\n  \
             run:\n  - \"id -u > who; echo \\\"$GREETING|$TWO|$HOME|$PWD\\\" > env\"\n  - \"ls > listing\"\n",
        )
        .file("config/a.conf", "a")
        .file("tool.sh", "#!/bin/sh")
        .file("files/data/x", "x")
        .file("commands.py", "pass");
    let built = world.build().expect("build");
    let read = |path: &str| world.read(&built, path).unwrap_or_default();
    assert_eq!(read("app/who"), "0\n");
    assert_eq!(read("app/env"), "hello |me $|/root|/app\n");
    assert_eq!(read("app/listing"), "bin\ndata\nenv\nlisting\nwho\n");
    assert_eq!(read("etc/mine/a.conf"), "a");
    assert_eq!(read("usr/local/share/abx/00-mine/commands.py"), "pass");
    assert!(read("etc/profile.d/zz-abx.sh").contains("export GREETING='hello '"));
    let owner = |path: &str| world.find(&built, path).expect(path).symlink_metadata().expect(path).uid();
    assert_eq!([owner("app/data/x"), owner("app/bin/tool.sh"), owner("etc/mine/a.conf")], [1000, 1000, 0]);
    assert!(outcomes(&built).iter().all(|outcome| outcome.starts_with('+')));
    assert_eq!((built.image.config.user.as_str(), built.image.config.workdir.as_str()), ("user", "/app"));
    assert_eq!(built.image.config.history.len() + 1, built.image.layers.len(), "the base has no history");

    let again = world.build().expect("again");
    assert!(outcomes(&again).iter().all(|outcome| outcome.starts_with('=')));
    assert_eq!(again.image, built.image);
    world.assert_clean();
}

fn what_was_built_is_written_to_disk() {
    let world = World::new();
    world.template("  copy: [{src: a, dest: a}]\n").file("a", "1");
    world.build().expect("build");
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while !world.store.home().store("synced").exists() {
        assert!(std::time::Instant::now() < deadline, "nobody syncs the store");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn a_changed_file_rebuilds_what_follows() {
    let world = World::new();
    world.template("  copy: [{src: a, dest: a}, {src: b, dest: b}]\n  run: [\"cat a b > both\"]\n");
    world.file("a", "1").file("b", "1");
    world.build().expect("build");
    world.file("b", "2");
    let built = world.build().expect("again");
    assert_eq!(world.read(&built, "app/both").as_deref(), Some("12"));
    let expected = [
        "=setup: user user, workdir /app",
        "=copy: a a",
        "+copy: b b",
        "+run: cat a b > both",
        "+environment of login shells",
    ];
    assert_eq!(outcomes(&built), expected);
}

fn a_failed_step_says_all_and_the_next_run_resumes() {
    let world = World::new();
    let build = |last: &str| format!("  run:\n    - touch first\n    - seq 30; {last} | cat; echo never\n");
    world.template(&build("nosuchprogram"));
    let error = world.build().expect_err("fails");
    assert_eq!(error.code(), Code::BuildStep);
    assert!(error.to_string().contains("ended with status 127"), "{error}");
    let snippet = &error.snippets()[0];
    assert_eq!((snippet.file.as_str(), snippet.line), ("./mine/template.yaml", 7));
    let details = error.details();
    assert_eq!(details[0], "$ seq 30; nosuchprogram | cat; echo never");
    assert_eq!(details.len(), 21, "the command and twenty lines");
    assert!(details[20].contains("nosuchprogram"), "{details:?}");
    let BuildError::Step { step, .. } = &error else { panic!("{error:?}") };
    let log = std::fs::read_to_string(step.log.as_ref().expect("log")).expect("read");
    assert!(log.starts_with("1\n2\n") && !log.contains("never"));
    assert!(error.hints().iter().any(|hint| hint.contains(".log")));
    world.assert_clean();

    world.template(&build("echo"));
    let built = world.build().expect("repaired");
    assert!(outcomes(&built)[..2].iter().all(|outcome| outcome.starts_with('=')), "{:?}", outcomes(&built));
}

fn the_script_runs_last_and_its_failure_shows() {
    let world = World::new();
    world.template("  run: [\"echo run > order\"]\n");
    world.file("scripts/setup.sh", "#!/bin/sh\necho \"script $(id -u) $PWD\" >> order\n");
    let built = world.build().expect("build");
    assert_eq!(world.read(&built, "app/order").as_deref(), Some("run\nscript 0 /app\n"));
    world.file("scripts/setup.sh", "#!/bin/sh\necho one\nfalse\necho two\n");
    let error = world.build().expect_err("fails");
    assert_eq!(error.snippets()[0].file, "./mine/scripts/setup.sh");
    assert_eq!(error.details()[1..], ["one"]);
}

fn a_step_that_takes_too_long_is_stopped() {
    let mut world = World::new();
    world.limits.timeout = Duration::from_millis(200);
    world.template("  run: [\"echo begun; sleep 600\"]\n");
    let error = world.build().expect_err("too long");
    assert_eq!(error.code(), Code::BuildTimeout);
    assert!(error.details().contains(&"begun".to_owned()));
    world.assert_clean();
}

fn a_step_over_its_memory_is_told_so() {
    let mut world = World::new();
    world.limits.memory = Some(64);
    world.template("  run: [\"x=$(head -c 300M /dev/zero | tr '\\\\0' x)\"]\n");
    let error = world.build().expect_err("too much");
    assert_eq!(error.code(), Code::Limit, "{error} {:?}", error.details());
    assert!(matches!(error, BuildError::Step { failure: Failure::Memory(Some(64)), .. }));
}

fn dropping_the_build_stops_it() {
    let world = World::new();
    world.template("  run: [\"touch kept\", \"echo begun; sleep 600\"]\n");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let (builder, lineage) = (world.builder(), world.lineage());
    runtime.block_on(async {
        let begun = Signal::default();
        tokio::select! {
            result = builder.build(&lineage, world.base.clone(), &begun) => panic!("{result:?}"),
            () = begun.0.notified() => {}
        }
    });
    // Waits for the thread that does the work: it must have ended its step by itself.
    drop(runtime);
    world.assert_clean();
    world.template("  run: [\"touch kept\", \"echo begun\"]\n");
    assert!(outcomes(&world.build().expect("build"))[1].starts_with("=run: touch kept"));
}

/// Tells of the first line of output.
#[derive(Default)]
struct Signal(tokio::sync::Notify);

impl Progress for Signal {
    fn event(&self, event: Event) {
        if let Event::Output { .. } = event {
            self.0.notify_one();
        }
    }
}

fn two_builds_at_once_make_each_layer_once() {
    let world = World::new();
    world.template("  run: [\"sleep 0.2; echo x > one\", \"sleep 0.1\"]\n");
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| world.build().expect("first"));
        let second = scope.spawn(|| world.build().expect("second"));
        (first.join().expect("first"), second.join().expect("second"))
    });
    assert_eq!(first.image, second.image);
    for (one, other) in outcomes(&first).iter().zip(&outcomes(&second)) {
        assert_ne!(one.starts_with('+'), other.starts_with('+'), "{one}");
    }
    world.assert_clean();
}

fn without_cache_all_is_made_anew_and_stays() {
    let mut world = World::new();
    world.template("  run: [\"cat /proc/sys/kernel/random/uuid > unique\"]\n");
    let first = world.build().expect("first");
    world.no_cache = true;
    let renewed = world.build().expect("renewed");
    assert!(outcomes(&renewed).iter().all(|outcome| outcome.starts_with('+')));
    assert_ne!(world.read(&renewed, "app/unique"), world.read(&first, "app/unique"));
    assert!(world.read(&first, "app/unique").is_some(), "running sandboxes keep their layers");
    world.no_cache = false;
    let later = world.build().expect("later");
    assert_eq!(later.image, renewed.image);
    assert!(outcomes(&later).iter().all(|outcome| outcome.starts_with('=')));
}

fn caches_and_secrets_leave_no_trace() {
    let mut world = World::new();
    world.host.proxies = vec![("http_proxy".into(), "http://me:s3cr3t-word@127.0.0.1:9".into())];
    world.template(
        "  run:\n    - \"echo proxy $http_proxy; mkdir -p /root/.cache/pip /var/lib/apt/lists; \
         touch /root/.cache/pip/x /run/x $PIP_CACHE_DIR/kept /var/lib/apt/lists/y; echo > done\"\n",
    );
    let record = Record::default();
    let built = world.build_with(&record).expect("build");
    let lines = record.lines.lock().expect("lock").join("\n");
    assert_eq!(lines, "proxy http://****@127.0.0.1:9");
    for path in ["root/.cache", "run/x", "run/abx", "var/lib/apt/lists/y"] {
        assert_eq!(world.find(&built, path), None, "{path}");
    }
    let own =
        std::fs::read_dir(world.store.home().cache("own")).expect("own").next().expect("one").expect("entry");
    assert!(own.file_name().to_string_lossy().starts_with("mine-"));
    assert!(own.path().join("pip/kept").exists());
    assert!(!world.store.home().cache("pip").exists(), "a command sees no shared cache");
    let secret = |path: &std::path::Path| {
        walkdir::WalkDir::new(path).into_iter().flatten().any(|entry| {
            entry.file_type().is_file()
                && std::fs::read(entry.path())
                    .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("s3cr3t"))
        })
    };
    assert!(!secret(world.store.home().root()));
    world.host.proxies.clear();
    let without = world.build().expect("again");
    assert_eq!(without.image, built.image, "the host is no part of a key");
}

fn offline_runs_commands_and_refuses_packages() {
    let mut world = World::new();
    world.offline = true;
    world.template("  run: [\"cat /proc/net/dev > devices\"]\n");
    let built = world.build().expect("build");
    let devices = world.read(&built, "app/devices").unwrap_or_default();
    assert!(devices.contains("lo:") && !devices.contains("eth0"), "{devices}");
    world.template("  apt_install: [git]\n");
    assert_eq!(world.build().expect_err("offline").code(), Code::Offline);
    world.offline = false;
    let error = world.build().expect_err("no apt");
    assert_eq!(error.code(), Code::BuildStep);
    assert!(error.to_string().contains("needs apt, which the image lacks"), "{error}");
}
