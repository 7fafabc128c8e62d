//! What instructions mean before any variable is expanded.

use std::time::Duration;

use abx_dockerfile::{
    Action, Check, Command, Healthcheck, MountKind, Network, Script, Sharing, parse, parse_trigger,
};

/// The action of the only instruction behind `FROM`.
#[track_caller]
fn action(instruction: &str) -> Action {
    let text = format!("FROM a\n{instruction}\n");
    let dockerfile = parse(&text, "Dockerfile").unwrap_or_else(|fault| panic!("{instruction}: {fault}"));
    let [stage] = &*dockerfile.stages else { panic!("one stage") };
    let [instruction] = &*stage.instructions else { panic!("one instruction in {text}") };
    instruction.action.clone()
}

fn script(instruction: &str) -> Script {
    match action(instruction) {
        Action::Run(run) => run.script,
        other => panic!("no RUN: {other:?}"),
    }
}

fn shell(line: &str) -> Script {
    Script::Command(Command::Shell(line.to_owned()))
}

#[test]
fn commands_have_two_forms() {
    assert_eq!(script("RUN  echo  $A 'b' "), shell("echo  $A 'b'"));
    let exec = |words: &[&str]| Command::Exec(words.iter().map(|word| (*word).to_owned()).collect());
    assert_eq!(script("RUN [\"echo\", \"$A\"]"), Script::Command(exec(&["echo", "$A"])));
    assert_eq!(script("RUN [ -f /x ]"), shell("[ -f /x ]"));
    assert_eq!(script("RUN ['a']"), shell("['a']"));
    assert_eq!(action("CMD [\"\\u00e9\\ud83d\\ude00\\ud83d\"]"), Action::Cmd(Some(exec(&["é😀\u{fffd}"]))));
    assert_eq!(action("CMD []"), Action::Cmd(None));
    assert_eq!(action("entrypoint a"), Action::Entrypoint(Some(Command::Shell("a".into()))));
    assert_eq!(action("SHELL [\"a\", \"-c\"]"), Action::Shell(vec!["a".into(), "-c".into()]));
}

#[test]
fn here_documents_of_run() {
    let rows = [
        ("RUN <<EOF\na\n\tb # c\nEOF", shell("a\n\tb # c\n")),
        ("RUN <<-EOF\n\ta\n\t\tb\n\tEOF", shell("a\nb\n")),
        ("RUN <<\"EOF\"\n$a\nEOF", shell("$a\n")),
        ("RUN <<E\\\nOF\na\nEOF", shell("a\n")),
        ("RUN << EOF\na\nEOF", shell("a\n")),
        ("RUN python3 <<EOF\nprint(1)\nEOF", shell("python3 <<EOF\nprint(1)\nEOF")),
        ("RUN <<-EOF cat\n\ta\n\tEOF", shell("<<-EOF cat\n\ta\nEOF")),
        ("RUN cat <<a <<b\n1\na\n2\nb", shell("cat <<a <<b\n1\na\n2\nb")),
        ("RUN --network=none <<EOF\nUSER x\nEOF", shell("USER x\n")),
        ("RUN cat <<EOF &&\\\n  true\na\nEOF", shell("cat <<EOF &&  true\na\nEOF")),
        ("RUN echo \"<<EOF\"", shell("echo \"<<EOF\"")),
        ("RUN [\"echo\", \"<<EOF\"]", Script::Command(Command::Exec(vec!["echo".into(), "<<EOF".into()]))),
    ];
    for (instruction, expected) in rows {
        assert_eq!(script(instruction), expected, "for {instruction:?}");
    }
    let file = Script::File { name: "S".into(), content: "#!/bin/x\n1\n".into() };
    assert_eq!(script("RUN <<-S\n\t#!/bin/x\n\t1\nS"), file);
}

#[test]
fn a_document_ends_in_windows_line_ends_too() {
    assert_eq!(script("RUN <<EOF\r\na\r\nEOF\r"), shell("a\r\n"));
}

#[test]
fn mounts() {
    let Action::Run(run) = action(
        "RUN --mount=type=bind,source=a,target=/b,from=c --mount=type=cache,dst=/d,id=e,sharing=locked,mode=0700,uid=5 \
         --mount=type=tmpfs,target=/f,size=64m --mount=type=secret,id=g,env=H,required --network=none i",
    ) else {
        panic!("no RUN")
    };
    assert_eq!(run.network, Network::None);
    let [bind, cache, tmpfs, secret] = &*run.mounts else { panic!("four mounts") };
    let MountKind::Bind { target, source, from, read_write } = &bind.kind else { panic!("{bind:?}") };
    assert_eq!((&*target.text, &*source.text, *read_write), ("/b", "a", false));
    assert_eq!(from.as_ref().map(|from| &*from.text), Some("c"));
    let MountKind::Cache { target, id, sharing, mode, uid, gid, read_only, .. } = &cache.kind else {
        panic!("{cache:?}")
    };
    assert_eq!((&*target.text, id.as_ref().map(|id| &*id.text)), ("/d", Some("e")));
    assert_eq!((*sharing, *mode, *uid, *gid, *read_only), (Sharing::Locked, 0o700, 5, 0, false));
    let MountKind::Tmpfs { size, .. } = &tmpfs.kind else { panic!("{tmpfs:?}") };
    assert_eq!(*size, Some(64 << 20));
    let MountKind::Secret { id, target, env, required, mode, .. } = &secret.kind else {
        panic!("{secret:?}")
    };
    assert_eq!((&*id.text, target, *required, *mode), ("g", &None, true, 0o400));
    assert_eq!(env.as_ref().map(|env| &*env.text), Some("H"));
}

#[test]
fn mounts_may_be_written_to_as_they_say() {
    let rows = [
        ("type=bind,target=/a", false),
        ("type=bind,target=/a,rw", true),
        ("type=bind,target=/a,readwrite=true", true),
        ("type=bind,target=/a,ro=false", true),
        ("type=cache,target=/a", true),
        ("type=cache,target=/a,readonly", false),
        ("target=/a", false),
    ];
    for (mount, expected) in rows {
        let Action::Run(run) = action(&format!("RUN --mount={mount} b")) else { panic!("no RUN") };
        let writable = match &run.mounts[0].kind {
            MountKind::Bind { read_write, .. } => *read_write,
            MountKind::Cache { read_only, .. } => !read_only,
            other => panic!("{other:?}"),
        };
        assert_eq!(writable, expected, "for {mount}");
    }
}

#[test]
fn a_secret_is_named_by_its_target_where_it_has_no_id() {
    let Action::Run(run) = action("RUN --mount=type=secret,target=/root/.netrc b") else { panic!("no RUN") };
    let MountKind::Secret { id, .. } = &run.mounts[0].kind else { panic!("no secret") };
    assert_eq!(id.text, ".netrc");
}

#[test]
fn copies() {
    let Action::Copy(copy) =
        action("COPY --from=b --chown=1:2 --chmod=755 --link --parents --exclude=x --exclude=y c d /e/")
    else {
        panic!("no COPY")
    };
    let files = &copy.files;
    let texts =
        |words: &[abx_dockerfile::Word]| words.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&files.sources), ["c", "d"]);
    assert_eq!(texts(&files.exclude), ["x", "y"]);
    assert_eq!((&*files.dest.text, files.link, copy.parents), ("/e/", true, true));
    let Action::Add(add) = action("ADD --unpack=false [\"a b\", \"https://c/d.git.tar\", \"/e f\"]") else {
        panic!("no ADD")
    };
    assert_eq!(texts(&add.files.sources), ["a b", "https://c/d.git.tar"]);
    assert_eq!((add.unpack, &*add.files.dest.text), (Some(false), "/e f"));
}

#[test]
fn here_documents_of_copy() {
    let Action::Copy(copy) = action("COPY <<a b <<-\"c\" << 'd' /e/\n1\na\n\t2\n\tc\n3\nd") else {
        panic!("no COPY")
    };
    let inline: Vec<_> = copy
        .files
        .inline
        .iter()
        .map(|inline| (&*inline.name, &*inline.content.text, inline.expand))
        .collect();
    assert_eq!(inline, [("a", "1\n", true), ("c", "2\n", false), ("d", "3\n", false)]);
    assert_eq!(copy.files.sources.iter().map(|word| &*word.text).collect::<Vec<_>>(), ["b"]);
    assert_eq!(copy.files.dest.text, "/e/");
}

#[test]
fn health_checks() {
    let Action::Healthcheck(Healthcheck::Check(check)) =
        action("HEALTHCHECK --interval=1m30s --timeout=0s --start-interval=500ms --retries=3 cmd a  b")
    else {
        panic!("no check")
    };
    let expected = Check {
        command: Command::Shell("a  b".into()),
        interval: Some(Duration::from_secs(90)),
        timeout: None,
        start_period: None,
        start_interval: Some(Duration::from_millis(500)),
        retries: Some(3),
    };
    assert_eq!(check, expected);
    assert_eq!(action("HEALTHCHECK NONE"), Action::Healthcheck(Healthcheck::None));
}

#[test]
fn triggers_are_kept_as_text_that_reads_the_same() {
    for trigger in ["RUN a  b", "COPY --chown=x . /y", "RUN cat <<EOF\n$a\nEOF", "ENV a=b"] {
        let Action::Onbuild(onbuild) = action(&format!("ONBUILD {trigger}")) else { panic!("no ONBUILD") };
        assert_eq!(onbuild.text, trigger);
        let (again, source) = parse_trigger(&onbuild.text, "ONBUILD of x").unwrap();
        assert_eq!(again.text, onbuild.instruction.text, "for {trigger}");
        assert_eq!(source.file(), "ONBUILD of x");
    }
    for bad in ["", "FROM a", "RUN a\nRUN b", "ONBUILD RUN a", "NOPE"] {
        assert!(parse_trigger(bad, "x").is_err(), "{bad}");
    }
}

#[test]
fn front_ends_of_docker_are_known_from_any_registry() {
    let good = [
        "docker/dockerfile",
        "docker/dockerfile:1.7-labs",
        "docker.io/docker/dockerfile:1",
        "host:5000/mirror/docker/dockerfile:1@sha256:0",
        "docker/dockerfile-upstream:master",
    ];
    for name in good {
        assert!(parse(&format!("# syntax={name}\nFROM a"), "Dockerfile").is_ok(), "{name}");
    }
    for name in ["docker/dockerfile2", "xdocker/dockerfile", "dockerfile"] {
        assert!(parse(&format!("# syntax={name}\nFROM a"), "Dockerfile").is_err(), "{name}");
    }
}

#[test]
fn an_instruction_is_shown_as_one_line() {
    let dockerfile = parse("FROM a\n  run a && \\\n    # why\n    b\n", "Dockerfile").unwrap();
    let instruction = &dockerfile.stages[0].instructions[0];
    assert_eq!(instruction.text, "run a &&     b");
    assert_eq!(dockerfile.source.line_at(instruction.span.start), 2);
}

#[test]
fn the_escape_character_may_be_a_backtick() {
    let dockerfile = parse("# escape=`\nFROM a\nRUN b `\n  c \\\nWORKDIR C:\\\\d\n", "Dockerfile").unwrap();
    assert_eq!(dockerfile.escape, '`');
    assert_eq!(dockerfile.stages[0].instructions.len(), 2);
}
