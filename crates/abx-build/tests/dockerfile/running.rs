//! `RUN`: its forms, what the process sees, and what is left of it.

use abx_build::BuildSecret;
use abx_core::{Code, Event, Fault, Progress};

use crate::world::{Record, World, outcomes};

pub(crate) const ALL: &[(&str, fn())] = &[
    ("commands_in_every_form", commands_in_every_form),
    ("a_command_sees_what_buildkit_shows_it", a_command_sees_what_buildkit_shows_it),
    ("users_groups_and_homes", users_groups_and_homes),
    ("mount_points_leave_no_trace", mount_points_leave_no_trace),
    ("what_is_written_to_run_stays", what_is_written_to_run_stays),
    ("caches_outlive_a_build", caches_outlive_a_build),
    ("files_are_bound_and_what_is_written_to_them_is_lost", files_are_bound),
    ("memory_is_bounded_and_gone", memory_is_bounded_and_gone),
    ("secrets_are_seen_by_their_step_alone", secrets_are_seen_by_their_step_alone),
    ("secrets_are_in_no_error_and_short_ones_hidden_as_words", secrets_are_in_no_error),
    ("a_missing_secret_is_refused_where_it_is_required", a_missing_secret_is_refused),
    ("no_network_where_none_is_wanted", no_network_where_none_is_wanted),
    ("arguments_count_once_they_are_declared", arguments_count_once_they_are_declared),
    ("dropping_the_build_stops_it", dropping_the_build_stops_it),
    ("two_builds_at_once_make_each_layer_once", two_builds_at_once_make_each_layer_once),
];

fn commands_in_every_form() {
    let world = World::new();
    let built = world.build(
        "FROM tools\nRUN echo $0 > /shell\nRUN [\"/bin/cp\", \"/shell\", \"/exec $x\"]\n\
         RUN <<EOF\necho one > /document\necho two >> /document\nEOF\n\
         RUN <<SCRIPT\n#!/bin/bash\necho \"${BASH_VERSION:+bash}\" > /script\nSCRIPT\n\
         RUN cat <<EOF > /within\nin\nEOF\nSHELL [\"/bin/bash\", \"-euo\", \"pipefail\", \"-c\"]\n\
         RUN echo $- > /strict\nRUN ! ( false | true )\n",
    );
    let read = |path: &str| world.read(&built, path).unwrap_or_default();
    assert_eq!([read("shell"), read("exec $x")], ["/bin/sh\n", "/bin/sh\n"]);
    assert_eq!([read("document"), read("script"), read("within")], ["one\ntwo\n", "bash\n", "in\n"]);
    assert!(read("strict").contains('u'));
    assert_eq!(built.image.config.shell, ["/bin/bash", "-euo", "pipefail", "-c"]);
}

fn a_command_sees_what_buildkit_shows_it() {
    let mut world = World::new();
    world.args = vec![("GIVEN".into(), "g".into()), ("http_proxy".into(), "http://127.0.0.1:9".into())];
    let built = world.build(
        "FROM tools\nARG GIVEN\nARG OWN=o\nENV BOTH=$GIVEN$OWN OWN=env\nARG UNSET\nWORKDIR /w\nRUN env > /out\n",
    );
    let out = world.read(&built, "out").unwrap_or_default();
    let mut lines: Vec<&str> =
        out.lines().filter(|line| !line.starts_with("SHLVL=") && !line.starts_with("_=")).collect();
    lines.sort_unstable();
    let expected = [
        "BOTH=go",
        "GIVEN=g",
        "HOME=/root",
        "OWN=env",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PWD=/w",
        "http_proxy=http://127.0.0.1:9",
    ];
    assert_eq!(lines, expected);
    assert_eq!(
        built.image.config.env[1..],
        [("BOTH".into(), "go".into()), ("OWN".into(), "env".into())] as [(String, String); 2]
    );
    assert_eq!(
        built.image.config.history.last().map(String::as_str),
        Some("RUN |3 GIVEN=g OWN=env UNSET= /bin/sh -c env > /out # buildkit")
    );
    world.args[1].1 = "http://127.0.0.1:10".into();
    let again = outcomes(&world.build("FROM tools\nARG GIVEN\nARG OWN=o\nENV BOTH=$GIVEN$OWN OWN=env\nARG UNSET\nWORKDIR /w\nRUN env > /out\n"));
    assert!(again.iter().all(|outcome| outcome.starts_with('=')), "a proxy is no part of a key: {again:?}");
}

fn users_groups_and_homes() {
    let world = World::new();
    let add =
        "RUN echo app:x:20:30::/srv/app: >> /etc/passwd; echo staff:x:40:app >> /etc/group; chmod 777 /mnt\n";
    let rows = [
        ("app", "20 30 30 40 /srv/app\n"),
        ("20", "20 30 30 40 /srv/app\n"),
        ("app:staff", "20 40 40 /srv/app\n"),
        ("7", "7 0 0 /\n"),
        ("7:8", "7 8 8 /\n"),
        ("root", "0 0 0 /root\n"),
    ];
    for (user, expected) in rows {
        let text = format!(
            "FROM tools\nRUN mkdir -p /mnt\n{add}USER {user}\nRUN echo $(id -u) $(id -g) $(id -G) $HOME > /mnt/out\n"
        );
        let built = world.build(&text);
        assert_eq!(world.read(&built, "mnt/out").as_deref(), Some(expected), "{user}");
    }
    let error = world.try_build("FROM tools\nUSER nobody-here\nRUN true\n").expect_err("no such user");
    assert!(error.to_string().contains("the image has no user `nobody-here`"), "{error}");
    assert_eq!(error.snippets()[0].line, 3);
}

fn mount_points_leave_no_trace() {
    let world = World::new();
    // The small root lacks /etc/resolv.conf, /etc/hosts and /etc/hostname.
    let built = world.build("FROM tools\nRUN cat /etc/hosts > /dev/null\n");
    assert_eq!(world.listing(&built), [""; 0]);
    let built = world.build("FROM tools\nRUN touch /etc/mine\n");
    assert_eq!(world.listing(&built), ["755 0:0 etc/", "644 0:0 etc/mine = "]);
    let built = world.build(
        "FROM tools\nRUN --mount=type=tmpfs,target=/a/b --mount=type=cache,target=/c --mount=type=secret,id=x \
         --mount=type=bind,target=/d,from=tools touch /a/b/x /c/x; test -x /d/bin/bash\n",
    );
    assert_eq!(world.listing(&built), [""; 0]);
}

fn what_is_written_to_run_stays() {
    let world = World::new();
    let built =
        world.build("FROM tools\nRUN mkdir -p /run/mine && touch /run/mine/x\nRUN test -e /run/mine/x\n");
    assert_eq!(world.listing(&built), ["755 0:0 run/", "755 0:0 run/mine/", "644 0:0 run/mine/x = "]);
}

fn caches_outlive_a_build() {
    let world = World::new();
    let text = |number: u32, options: &str| {
        format!(
            "FROM tools\nRUN --mount=type=cache,target=/c{options} echo {number} >> /c/log; cat /c/log > /out; \
             stat -c '%a %u:%g' /c >> /out\n"
        )
    };
    let out = |number, options: &str| {
        let built = world.build(&text(number, options));
        assert!(world.find(&built, "c").is_none());
        world.read(&built, "out").unwrap_or_default()
    };
    assert_eq!(out(1, ""), "1\n755 0:0\n");
    assert_eq!(out(2, ",sharing=locked"), "1\n2\n755 0:0\n");
    assert_eq!(out(3, ",id=other,mode=0700,uid=5,gid=6"), "3\n700 5:6\n");
    assert_eq!(out(4, ",sharing=private,id=other"), "4\n755 0:0\n");
    assert_eq!(out(5, ",sharing=private,id=other"), "4\n5\n755 0:0\n");
    let from = "FROM tools AS seed\nRUN mkdir /seed && echo seed > /seed/log\n";
    let built = world.build(&format!("{from}{}", text(6, ",from=seed,source=/seed")));
    assert_eq!(world.read(&built, "out").as_deref(), Some("seed\n6\n755 0:0\n"));
}

fn files_are_bound() {
    let world = World::new();
    world.file("src/a", "a").file("src/hidden", "h").file(".dockerignore", "**/hidden\n");
    let text = "FROM tools AS other\nRUN mkdir /o && echo o > /o/f && chown 5 /o/f\nFROM tools\n\
         RUN --mount=type=bind,target=/src,source=src ls /src > /out; ! touch /src/new\n\
         WORKDIR /w\nRUN --mount=target=in,from=other,source=/o,rw stat -c %u in/f >> /out; echo x > in/f; touch in/g\n\
         RUN --mount=from=other,source=/o/f,target=/file cat /file >> /out\n\
         RUN --mount=from=other,source=/o,target=/o ls /o >> /out\n";
    let built = world.build(text);
    assert_eq!(world.read(&built, "out").as_deref(), Some("a\n5\no\nf\n"));
    world.file("src/hidden", "changed").file("unrelated", "x");
    assert!(outcomes(&world.build(text)).iter().all(|outcome| outcome.starts_with('=')));
    world.file("src/a", "changed");
    let again = outcomes(&world.build(text));
    assert!(again[1].starts_with('+'), "{again:?}");
    let error =
        world.try_build("FROM tools\nRUN --mount=target=/x,source=nope true\n").expect_err("no source");
    assert!(error.to_string().contains("there is no `nope` in the build context"), "{error}");
    world.assert_clean();
}

fn memory_is_bounded_and_gone() {
    let world = World::new();
    let built = world.build(
        "FROM tools\nRUN --mount=type=tmpfs,target=/root,size=1m touch /root/x && stat -c %a /root > /out; \
         ! head -c 2M /dev/zero > /root/big\n",
    );
    assert_eq!(world.listing(&built), ["644 0:0 out = 1777"]);
}

fn secrets_are_seen_by_their_step_alone() {
    let mut world = World::new();
    world.secrets = vec![BuildSecret { id: "key".into(), value: b"geheim-one\nline-two\n".to_vec() }];
    let text = "FROM tools\nRUN --mount=type=secret,id=key cat /run/secrets/key; stat -c '%a %u' /run/secrets/key\n\
         RUN --mount=type=secret,id=key,env=KEY,target=/etc/key,mode=0444,uid=7 echo \"$KEY\" | tr a-z A-Z; \
         stat -c '%a %u' /etc/key; head -c 6 /etc/key > /part\n\
         RUN test ! -e /run/secrets && test ! -e /etc/key && test -z \"$KEY\"\n";
    let record = Record::default();
    let built = world.build_with(&world.request(text), &record).expect("build");
    let lines = record.lines.lock().expect("lock").clone();
    assert_eq!(lines, ["****", "****", "400 0", "GEHEIM-ONE", "LINE-TWO", "444 7"]);
    assert_eq!(world.listing(&built), ["644 0:0 part = geheim"]);
    let holds_secret = |path: &std::path::Path| {
        walkdir::WalkDir::new(path).into_iter().flatten().any(|entry| {
            entry.file_type().is_file()
                && std::fs::read(entry.path())
                    .is_ok_and(|bytes| bytes.windows(10).any(|window| window == b"geheim-one"))
        })
    };
    assert!(!holds_secret(world.store.home().root()));
    assert!(!format!("{:?} {:?}", world.request(text), built.image).contains("geheim-one"));
    world.secrets[0].value = b"another".to_vec();
    let again = world.build(text);
    assert_eq!(again.image, built.image, "a value is no part of a key");
}

fn secrets_are_in_no_error() {
    let mut world = World::new();
    let secret = |id: &str, value: &str| BuildSecret { id: id.into(), value: value.into() };
    world.secrets = vec![
        secret("key", "geheim-one\n"),
        secret("pin", "7Q"),
        secret("json", "{\n  \"k\": \"v-long\"\n}\n"),
    ];
    let record = Record::default();
    let text = "FROM tools\nRUN --mount=type=secret,id=key --mount=type=secret,id=pin --mount=type=secret,id=json \
                cd /run/secrets; cat key; echo \"pin=$(cat pin) x$(cat pin)x {}\"; cat json; exit 9\n";
    let error = world.build_with(&world.request(text), &record).expect_err("status 9");
    let lines = record.lines.lock().expect("lock").clone();
    assert_eq!(lines, ["****", "pin=**** x7Qx {}", "{", "  ****", "}"]);
    let said = format!("{error} {:?} {:?} {error:?}", error.details(), error.hints());
    assert!(!said.contains("geheim") && !said.contains("v-long") && !said.contains("=7Q"), "{said}");
}

fn a_missing_secret_is_refused() {
    let world = World::new();
    let text = |required: bool| {
        format!("FROM tools\nRUN --mount=type=secret,id=key,required={required} test ! -e /run/secrets/key\n")
    };
    world.build(&text(false));
    let error = world.try_build(&text(true)).expect_err("no secret");
    assert_eq!(error.code(), Code::BuildStep);
    assert!(error.to_string().contains("no secret `key` was given"), "{error}");
    assert!(error.hints()[0].contains("--secret id="), "{:?}", error.hints());
}

fn no_network_where_none_is_wanted() {
    let mut world = World::new();
    let text = "FROM tools\nRUN --network=none cat /proc/net/dev > /out\nRUN cat /proc/net/dev > /other\n";
    let built = world.build(text);
    let devices = |path: &str| world.read(&built, path).unwrap_or_default();
    assert!(devices("out").contains("lo:") && !devices("out").contains("eth0:"), "{}", devices("out"));
    assert!(devices("other").contains("eth0:"));
    world.offline = true;
    assert!(outcomes(&world.build(text)).iter().all(|outcome| outcome.starts_with('=')));
}

fn arguments_count_once_they_are_declared() {
    let mut world = World::new();
    let text = "ARG BASE=tools\nFROM $BASE\nRUN echo before > /a\nARG V=1\nRUN echo $V > /b\n";
    let signs = |world: &World| -> String {
        outcomes(&world.build(text)).iter().map(|outcome| outcome[..1].to_owned()).collect()
    };
    assert_eq!(signs(&world), "++");
    world.args = vec![("V".into(), "2".into())];
    assert_eq!(signs(&world), "=+");
    assert_eq!(world.read(&world.build(text), "b").as_deref(), Some("2\n"));
    world.args = vec![("V".into(), "1".into()), ("BASE".into(), "others".into())];
    assert_eq!(signs(&world), "==");
}

fn dropping_the_build_stops_it() {
    let world = World::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let builder = world.builder();
    let request = world.request(
        "FROM tools AS a\nRUN touch /kept\nRUN --mount=type=cache,target=/c echo begun; sleep 600\n\
         FROM tools\nRUN sleep 600\nCOPY --from=a / /\n",
    );
    runtime.block_on(async {
        let begun = Signal::default();
        tokio::select! {
            result = builder.build_dockerfile(request, &begun) => panic!("{result:?}"),
            () = begun.0.notified() => {}
        }
    });
    // Waits for the threads that do the work: they must have ended their steps by themselves.
    drop(runtime);
    world.assert_clean();
    let built = world.build("FROM tools\nRUN touch /kept\n");
    assert!(outcomes(&built)[0].starts_with('='), "finished layers stay");
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
    let text = "FROM tools\nRUN sleep 0.3; echo x > /one\nRUN sleep 0.1; echo y > /two\n";
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| world.build(text));
        let second = scope.spawn(|| world.build(text));
        (first.join().expect("first"), second.join().expect("second"))
    });
    assert_eq!(first.image, second.image);
    for (one, other) in outcomes(&first).iter().zip(&outcomes(&second)) {
        assert_ne!(one.starts_with('+'), other.starts_with('+'), "{one}");
    }
    world.assert_clean();
}
