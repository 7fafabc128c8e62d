//! Templates whose Dockerfile defines the image: from the file to what runs in the sandbox.

use abx_test::{Ran, TestContext, wait_until};

use super::{with_debian, with_python};

/// The example of the design, word for word.
const METHOD_1: &str = "\
# Dockerfile
FROM registry.sandbox.alicloud.com/templates/python-base:latest

RUN pip install flask sqlalchemy celery
RUN apt-get update && apt-get install -y postgresql-client redis-tools

COPY ./config/ /app/config/

ENV FLASK_ENV=production
ENV DATABASE_URL=postgresql://localhost/mydb

EXPOSE 5000 6379

WORKDIR /app
CMD [\"python\", \"main.py\"]
";

#[track_caller]
fn build(abx: &TestContext, words: &[&str]) -> Ran {
    let words: Vec<&str> =
        ["template", "build", "--progress", "plain"].iter().chain(words).copied().collect();
    let ran = abx.run(&words);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    ran
}

/// What a command prints in a sandbox without a network.
#[track_caller]
fn print(abx: &TestContext, reference: &str, script: &str) -> String {
    abx.run(&["-q", "create", "--rm", "--network", "none", reference, "--", "sh", "-c", script]).success()
}

#[test]
fn the_design_s_example_builds_and_runs_as_it_is_printed() {
    let Some(abx) = with_python() else { return };
    abx.write("flask/Dockerfile", METHOD_1);
    abx.write("flask/config/app.yaml", "debug: false\n");
    // What its command starts.
    abx.write(
        "flask/files/main.py",
        "import flask, sqlalchemy, celery, time\nprint('serving', flush=True)\ntime.sleep(600)\n",
    );
    build(&abx, &["./flask", "--name", "my-flask-app", "--tag", "v1.0"]);
    let sandbox = abx.create(&["my-flask-app:v1.0"]);
    let info = sandbox.info();
    let ports: Vec<_> = info["ports"].as_array().expect("ports").iter().map(|port| &port["guest"]).collect();
    assert_eq!(ports, [5000, 6379]);
    assert_eq!(sandbox.sh("cat config/app.yaml; id -un; pwd"), "debug: false\nuser\n/app\n");
    assert_eq!(sandbox.sh("echo $FLASK_ENV $DATABASE_URL"), "production postgresql://localhost/mydb\n");
    assert!(sandbox.sh("psql --version; redis-cli --version").contains("psql"));
    let log = || abx.run(&["logs", info["id"].as_str().expect("an id")]).stdout;
    wait_until("the command", || log().contains("serving").then_some(()));

    // A template that inherits from it has all of that, without its folder.
    std::fs::remove_dir_all(abx.folder().join("flask")).expect("remove");
    let child =
        abx.template("child", "base:\n  from: my-flask-app:v1.0\nbuild:\n  run: [echo child > /srv/child]\n");
    let sandbox = abx.create(&[&child]);
    assert_eq!(sandbox.sh("cat /srv/child config/app.yaml"), "child\ndebug: false\n");
    assert_eq!(sandbox.info()["ports"].as_array().map(Vec::len), Some(2));
    let id = sandbox.info()["id"].as_str().expect("an id").to_owned();
    wait_until("its command", || abx.run(&["logs", &id]).stdout.contains("serving").then_some(()));
}

#[test]
fn a_folder_with_a_dockerfile_alone_is_a_template() {
    let Some(abx) = with_debian() else { return };
    abx.write("plain/Dockerfile", "FROM debian:bookworm-slim\nRUN id -u > /by && pwd >> /by\n");
    let by = print(&abx, "./plain", "cat /by; id -un; pwd");
    // Steps as docker's: root, in `/`; sandboxes have the usual user and workdir.
    assert_eq!(by, "0\n/\nuser\n/app\n");
    let listed = build(&abx, &["./plain"]);
    assert_eq!(listed.stdout.trim().len(), 64);
    let rows = abx.run(&["template", "list", "--json"]).json();
    assert!(
        rows.as_array().expect("rows").iter().any(|row| row["name"] == "plain" && row["tag"] == "latest")
    );
}

#[test]
fn what_the_dockerfile_says_is_how_sandboxes_run() {
    let Some(abx) = with_debian() else { return };
    abx.write(
        "runs/Dockerfile",
        "FROM debian:bookworm-slim\nRUN useradd -m www\nWORKDIR /srv\nWORKDIR web\nRUN chown www .\nUSER www\nRUN id -un > who\n\
         EXPOSE 8000 9000/udp\nHEALTHCHECK --interval=200ms CMD test -e /srv/web/ready\n\
         ENTRYPOINT [\"sh\", \"-c\"]\nCMD [\"echo it\\\\'s $0 $1 > started; touch ready\", \"a b\"]\n",
    );
    let sandbox = abx.create(&["./runs"]);
    let info = sandbox.info();
    assert_eq!((&info["user"], &info["workdir"]), (&"www".into(), &"/srv/web".into()));
    assert_eq!(info["ports"].as_array().map(Vec::len), Some(1));
    wait_until("the command", || {
        (sandbox.sh("cat started 2>/dev/null || true") == "it's a b\n").then_some(())
    });
    wait_until("health", || (sandbox.info()["health"] == "healthy").then_some(()));
    assert_eq!(sandbox.sh("cat who; id -un"), "www\nwww\n");
    drop(sandbox);

    // The file beside it goes before.
    abx.write(
        "runs/template.yaml",
        "version: \"1\"\nmetadata: {name: runs}\nbuild:\n  run: [\"id -un > /on-top; cat /srv/web/who >> /on-top\"]\n\
         sandbox: {user: user, workdir: /app, startup_command: touch /tmp/own}\nnetwork: {ports: [7000]}\nhealthcheck: null\n",
    );
    let sandbox = abx.create(&["./runs"]);
    assert_eq!(sandbox.sh("cat /on-top; id -un; pwd"), "root\nwww\nuser\n/app\n");
    let info = sandbox.info();
    assert_eq!((&info["ports"][0]["guest"], &info["ports"][1]), (&7000.into(), &serde_json::Value::Null));
    wait_until("its own command", || {
        (!sandbox.sh("ls /tmp/own 2>/dev/null || true").is_empty()).then_some(())
    });
}

#[test]
fn stages_begin_with_templates_images_and_each_other() {
    let Some(abx) = with_python() else { return };
    abx.write(
        "staged/Dockerfile",
        "ARG WORD=default\nFROM python-base AS maker\nARG WORD\nRUN python -c \"print('made by python', '$WORD')\" > /made\n\
         FROM debian:bookworm-slim AS root\nCOPY --from=maker /made /made\nFROM root\nCOPY --from=base /etc/debian_version /of-base\n\
         ARG WORD\nRUN echo $WORD > /word\n",
    );
    assert_eq!(
        print(&abx, "./staged", "cat /made /word; ls /of-base; command -v python3 || echo no python"),
        "made by python default\ndefault\n/of-base\nno python\n"
    );
    let ran =
        build(&abx, &["./staged", "--name", "staged", "--build-arg", "WORD=given", "--build-arg", "TYPO=x"]);
    assert!(ran.stderr.contains("`TYPO`"), "{}", ran.stderr);
    assert_eq!(print(&abx, "staged", "cat /made /word"), "made by python given\ngiven\n");
    build(&abx, &["./staged", "--name", "stage", "--target", "root"]);
    assert_eq!(
        print(&abx, "stage", "ls /word 2>&1 >/dev/null | wc -l; cat /made"),
        "1\nmade by python default\n"
    );
}

#[test]
fn a_secret_is_read_by_its_step_and_is_nowhere_afterwards() {
    let Some(abx) = with_debian() else { return };
    let canary = format!("canary-{}", std::process::id());
    abx.write("token.txt", &canary);
    let since = std::time::SystemTime::now();
    abx.write(
        "kept/Dockerfile",
        "FROM debian:bookworm-slim\nRUN --mount=type=secret,id=file --mount=type=secret,id=variable,env=WORD \
         wc -c < /run/secrets/file > /length && printf %s \"$WORD\" | wc -c >> /length && ls /run/secrets >> /length\n",
    );
    let mut command = abx.command(&[
        "-v",
        "template",
        "build",
        "./kept",
        "--name",
        "kept",
        "--progress",
        "plain",
        "--secret",
        "id=file,src=token.txt",
        "--secret",
        "id=variable,env=ABX_TEST_WORD",
    ]);
    let output = command.env("ABX_TEST_WORD", &canary).output().expect("abx");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(!text.contains(&canary), "{text}");
    let length = canary.len();
    assert_eq!(
        print(&abx, "kept", "cat /length; ls /run/secrets 2>/dev/null; true"),
        format!("{length}\n{length}\nfile\n")
    );
    let found = abx_test::canary::files_with(&canary, abx.state(), since);
    assert!(found.is_empty(), "{found:?}");

    abx.run(&["template", "build", "./kept", "--secret", "id=file,src=gone"]).failure(4, "E4001");
    let stderr =
        abx.run(&["template", "build", "./kept", "--secret", "id=NO_SUCH_VARIABLE"]).failure(4, "E4001");
    assert!(stderr.contains("NO_SUCH_VARIABLE"), "{stderr}");
    let ran = abx.run(&["template", "build", "./kept", "--secret", "src=token.txt"]);
    assert_eq!(ran.status, Some(2), "{ran:?}");
}

#[test]
fn a_failed_instruction_says_where() {
    let Some(abx) = with_debian() else { return };
    abx.write(
        "broken/Dockerfile",
        "FROM debian:bookworm-slim\nRUN true\nRUN echo because of this >&2; \\\n    exit 7\n",
    );
    let stderr = abx.run(&["template", "build", "./broken"]).failure(1, "E7010");
    for part in ["status 7", "./broken/Dockerfile:3:", "because of this"] {
        assert!(stderr.contains(part), "no {part:?}: {stderr}");
    }
    let stderr = abx.run(&["template", "build", "./broken", "--platform", "linux/s390x"]).failure(1, "E2011");
    assert!(stderr.contains("linux/s390x"), "{stderr}");
    let stderr = abx.run(&["template", "build", "./broken", "--target", "nope"]).failure(2, "E2004");
    assert!(stderr.contains("`nope`"), "{stderr}");
}

#[test]
fn a_build_that_is_the_same_twice_says_so_and_one_that_is_not_says_where() {
    let Some(abx) = with_debian() else { return };
    abx.write(
        "same/Dockerfile",
        "FROM debian:bookworm-slim\nRUN mkdir /d && echo made > /d/made\nCOPY Dockerfile /d/\n",
    );
    let ran = build(&abx, &["./same", "--verify"]);
    assert!(ran.stderr.contains("the same both times"), "{}", ran.stderr);
    // What leaves the store is the same, whenever it was built.
    let export = |file: &str| {
        let mut command = abx.command(&["template", "export", "same", "-o", file]);
        let status = command.env("SOURCE_DATE_EPOCH", "1000000000").status().expect("abx");
        assert!(status.success());
        std::fs::read(abx.folder().join(file)).expect("the file")
    };
    let info = |reference: &str| abx.run(&["template", "info", reference, "--json"]).json();
    let (folder, local) = (info("./same"), info("same"));
    assert_eq!(
        (folder["size"].as_u64(), &folder["base"]),
        (local["size"].as_u64(), &local["base"]),
        "{folder}"
    );
    assert!(folder["size"].as_u64() > Some(0) && folder["base"][0] == "debian:bookworm-slim", "{folder}");
    let first = export("one.tar");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    build(&abx, &["./same", "--no-cache"]);
    assert!(first == export("two.tar"), "another archive");

    abx.write(
        "chance/Dockerfile",
        "FROM debian:bookworm-slim\nRUN mkdir /d && date +%N > /d/now && echo x > /d/x\n",
    );
    let stderr = abx.run(&["template", "build", "./chance", "--verify"]).failure(1, "E7010");
    assert!(stderr.contains("/d/now: other content") && !stderr.contains("    /d/x:"), "{stderr}");
    assert!(stderr.contains("RUN mkdir /d"), "{stderr}");
}

#[test]
fn a_lock_holds_every_image_that_a_dockerfile_takes_from() {
    let Some(abx) = with_debian() else { return };
    let text = "FROM debian:bookworm AS other\nFROM debian:bookworm-slim\nCOPY --from=other /etc/debian_version /v\n";
    abx.write("held/Dockerfile", text);
    abx.run(&["template", "lock", "./held"]).success();
    let lock = std::fs::read_to_string(abx.folder().join("held/template.lock")).expect("a lock");
    let image = lock.split("[[image]]").nth(1).expect("another image");
    assert!(image.contains("\"debian:bookworm\"") && lock.contains("\"debian:bookworm-slim\""), "{lock}");
    abx.run(&["template", "validate", "./held", "--frozen"]).success();
    let outdated = abx.run(&["template", "outdated", "./held", "--json"]).json();
    let images: Vec<_> = outdated.as_array().into_iter().flatten().map(|row| &row["reference"]).collect();
    assert_eq!(images, ["debian:bookworm-slim", "debian:bookworm"], "{outdated}");
    abx.write("held/Dockerfile", text.replace("debian:bookworm AS", "debian:trixie AS"));
    let stderr = abx.run(&["template", "validate", "./held", "--frozen"]).failure(1, "E2008");
    assert!(stderr.contains("`debian:trixie`"), "{stderr}");
}
