//! `abx run`, `abx commands`: what a template registers is listed with its types and called by name.

use serde_json::{Value, json};

use super::shared;
use abx_test::{LiveSandbox, TestContext, wait_until};

const COMMANDS: &str = include_str!("commands/commands.py");
pub(crate) const RESIZE: &str = include_str!("commands/resize");

/// A sandbox of a child whose parent has commands of every kind, and which has one of its own and one of the same name.
fn sandbox(abx: &TestContext) -> LiveSandbox<'_> {
    abx.template("parent", "base: {from: base}\nbuild:\n  env: {WORD: of the template}\n");
    abx.write("parent/commands.py", COMMANDS);
    abx.write("parent/commands/resize", RESIZE);
    abx.write("parent/commands/notes.txt", "no command");
    let child = abx.template("child", "base: {from: ../parent}\n");
    let own = "from agent_sandbox import sandbox\n\n@sandbox.register\ndef count(): return 'of the child'\n\n\
               @sandbox.register\ndef own() -> str:\n    'only here'\n    return 'own'\n";
    abx.write("child/commands.py", own);
    abx.create(&[&child, "--network", "none"])
}

/// What the command of these words returns.
pub(crate) fn value(abx: &TestContext, sandbox: &LiveSandbox<'_>, words: &[&str]) -> Value {
    let ran = abx.run(&[&["run", &sandbox.id, "--json"], words].concat());
    assert_eq!(ran.status, Some(0), "{words:?}: {ran:#?}");
    ran.json()
}

#[test]
fn commands_are_listed_with_their_types() {
    let Some(abx) = shared() else { return };
    let sandbox = sandbox(&abx);
    let table = abx.run(&["commands", &sandbox.id]).success();
    let row = |name: &str| {
        let row = table.lines().find(|line| line.split_whitespace().next() == Some(name));
        row.unwrap_or_else(|| panic!("no {name} in\n{table}"))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (name, expect) in [
        ("NAME", "NAME ARGUMENTS DESCRIPTION"),
        ("greet", "greet name: string, times: integer = 1, loud: boolean = false Says hello."),
        (
            "types",
            "types a: integer, b: float = 0.5, c?: string, d: string[] = [], e: json = {}, f: integer = 3, \
             g: boolean = true, h: x|y = \"x\" gives back what it gets",
        ),
        ("resize", "resize width: integer, label: string = \"none\" resizes a picture"),
        ("own", "own only here"),
    ] {
        assert_eq!(row(name), expect);
    }
    assert!(!table.contains("hidden") && !table.contains("notes"), "{table}");
    let listed = abx.run(&["commands", &sandbox.id, "--json"]).json();
    let greet =
        listed.as_array().expect("a list").iter().find(|each| each["name"] == "greet").expect("greet");
    let name = json!({"name": "name", "type": "string", "required": true, "default": null,
        "description": "whom to greet"});
    assert_eq!(greet["args"][0], name);
}

#[test]
fn values_are_given_as_declared_and_come_back_as_they_are() {
    let Some(abx) = shared() else { return };
    let sandbox = sandbox(&abx);
    let rows: &[(&[&str], Value)] = &[
        (&["greet", "--arg", "name=Ada"], json!("hello Ada")),
        (
            &["greet", "--arg", "name=A=B", "--arg", "times=2", "--arg", "loud=yes"],
            json!("HELLO A=B HELLO A=B"),
        ),
        (&["types", "--arg", "a=7"], json!([7, 0.5, null, [], {}, 3, true, "x"])),
        (
            &[
                "types",
                "--arg",
                "a=-1",
                "--arg",
                "b=1e3",
                "--arg",
                "c=null",
                "--arg",
                "d=one",
                "--arg",
                "d=two",
                "--arg-json",
                "e={\"k\": 1}",
                "--arg",
                "f=4",
                "--arg",
                "g=0",
                "--arg",
                "h=y",
            ],
            json!([-1, 1000.0, "null", ["one", "two"], {"k": 1}, 4, false, "y"]),
        ),
        (
            &["types", "--arg-json", "a=7.0", "--arg-json", "c=null"],
            json!([7, 0.5, null, [], {}, 3, true, "x"]),
        ),
        (&["later", "--arg", "seconds=0.01"], json!({"slept": 0.01})),
        (&["point"], json!({"x": 1, "y": null})),
        (&["nothing"], json!(null)),
        (&["hidden"], json!("found")),
        (&["any", "--arg", "k=v", "--arg-json", "n=[1]"], json!({"k": "v", "n": [1]})),
        (&["count"], json!("of the child")),
        (&["own"], json!("own")),
        (&["surroundings"], json!({"user": 1000, "directory": "/app", "word": "of the template"})),
        (
            &["resize", "--arg", "width=7"],
            json!({"width": 7, "label": "none", "input": {"width": 7, "label": "none"}}),
        ),
    ];
    for (words, expect) in rows {
        assert_eq!(value(&abx, &sandbox, words), *expect, "{words:?}");
    }
    let plain = |words: &[&str]| abx.run(&[&["run", &sandbox.id], words].concat()).success();
    assert_eq!(plain(&["greet", "--arg", "name=Ada"]), "hello Ada\n");
    assert_eq!(plain(&["nothing"]), "");
    assert_eq!(plain(&["point"]), "{\n  \"x\": 1,\n  \"y\": null\n}\n");
    assert_eq!(plain(&["big", "--arg", "length=20000000"]).len(), 20_000_001);
    let log = abx.run(&["logs", &sandbox.id]).success();
    assert!(log.contains("greeting Ada") && log.contains("resizing to 7"), "{log}");
}

#[test]
fn what_is_wrong_is_told_by_its_kind() {
    let Some(abx) = shared() else { return };
    let sandbox = sandbox(&abx);
    let rows: &[(&[&str], i32, &str)] = &[
        (
            &["gret"],
            4,
            "error[E3005]: no command `gret` in this sandbox\nhelp: did you mean `greet`?\nhelp: there are any, ",
        ),
        (
            &["greet"],
            2,
            "error: `greet` does not take these arguments: `name` is missing\n\n  tip: it takes greet(name: string, ",
        ),
        (&["greet", "--arg", "nme=x"], 2, "`name` is missing, and `nme` is none of them"),
        (
            &["greet", "--arg", "name=x", "--arg", "nme=x"],
            2,
            "unexpected argument 'nme'; it takes loud, name, times",
        ),
        (&["greet", "--arg", "name=x", "--arg", "times=two"], 2, "`times` is an integer, which `two` is not"),
        (&["types", "--arg-json", "a=true"], 2, "argument 'a': true is not an integer"),
        (&["types", "--arg", "a=1", "--arg", "h=z"], 2, "argument 'h' is one of x, y"),
        (&["greet", "--arg-json", "name={"], 2, "the value of `name` is not JSON"),
        (&["fail", "--arg", "how=2"], 1, "error[E3000]: `fail` failed: OutOfPaper: tray 2\n"),
        (&["fail", "--arg", "how=exit"], 1, "error[E3000]: `fail` failed: SystemExit: 3\n"),
        (
            &["unsayable"],
            1,
            "error[E3000]: `unsayable` failed: TypeError: a value of type object cannot be returned\n",
        ),
        (
            &["resize", "--arg", "width=700"],
            1,
            "error[E3000]: `resize` failed: TooWide: wider than the paper\n",
        ),
        (
            &["resize", "--arg", "width=0"],
            1,
            "error[E3000]: `resize` failed: CommandFailed: width must be above 0 (ended with status 4)\n",
        ),
    ];
    for (words, status, expect) in rows {
        let ran = abx.run(&[&["run", &sandbox.id], *words].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(*status), ""), "{words:?}: {ran:#?}");
        assert!(ran.stderr.contains(expect), "{words:?}: {}", ran.stderr);
    }
    let error = abx.run(&["run", &sandbox.id, "nope", "--json"]).error_object();
    assert_eq!(error["code"], "E3005");
    assert!(abx.run(&["logs", &sandbox.id]).success().contains("OutOfPaper: tray 2"));
}

#[test]
fn a_call_that_nobody_waits_for_is_given_up_inside() {
    let Some(abx) = shared() else { return };
    let sandbox = sandbox(&abx);
    // The service is up, so that the limit is about the call alone.
    abx.run(&["commands", &sandbox.id]).success();
    let words =
        ["run", &sandbox.id, "spin", "--arg", "seconds=600", "--arg", "mark=/tmp/given-up", "--timeout", "1"];
    let told = abx.run(&words).failure(5, "E3001");
    assert!(told.contains("`spin` was given up after 1 s"), "{told}");
    wait_until("the call ends", || {
        (sandbox.exec(&["test", "-e", "/tmp/given-up"]).status == Some(0)).then_some(())
    });
}

#[test]
fn a_command_that_ends_its_service_does_not_end_the_next_call() {
    let Some(abx) = shared() else { return };
    let sandbox = sandbox(&abx);
    let told = abx.run(&["run", &sandbox.id, "fail", "--arg", "how=crash"]).failure(1, "E3000");
    assert!(told.contains("the service of named commands ended during `fail`"), "{told}");
    assert_eq!(value(&abx, &sandbox, &["own"]), json!("own"));
}

#[test]
fn calls_run_at_once_and_share_what_the_module_holds() {
    let Some(abx) = shared() else { return };
    let template = abx.template("counting", "base: {from: base}\n");
    abx.write("counting/commands.py", COMMANDS);
    let sandbox = abx.create(&[&template, "--network", "none"]);
    let results: Vec<Value> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| value(&abx, &sandbox, &["count"]))).collect();
        calls.into_iter().map(|call| call.join().expect("a value")).collect()
    });
    let mut counts: Vec<u64> = results.iter().map(|count| count.as_u64().expect("a number")).collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn commands_that_do_not_load_say_where() {
    let Some(abx) = shared() else { return };
    let template = abx.template("broken", "base: {from: base}\n");
    abx.write("broken/commands.py", "import json\n\nfrom no_such_module import x\n");
    let sandbox = abx.create(&[&template, "--network", "none"]);
    for words in [&["commands", &sandbox.id][..], &["run", &sandbox.id, "x"]] {
        let told = abx.run(words).failure(1, "E3000");
        let expect = "commands.py:3 does not load: ModuleNotFoundError: No module named 'no_such_module'";
        assert!(told.contains(expect), "{told}");
    }
}

#[test]
fn a_template_without_commands_has_none() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let listed = abx.run(&["commands", &sandbox.id]);
    assert_eq!((listed.status, listed.stdout.as_str()), (Some(0), ""), "{listed:#?}");
    assert!(listed.stderr.starts_with("no named commands"), "{listed:#?}");
    assert_eq!(abx.run(&["commands", &sandbox.id, "--json"]).json(), json!([]));
    let told = abx.run(&["run", &sandbox.id, "greet"]).failure(4, "E3005");
    assert!(told.contains("@sandbox.register"), "{told}");
}

#[test]
fn the_package_is_there_for_every_python_and_an_installed_one_stands() {
    let Some(abx) = shared() else { return };
    let template = abx.template("other", "base: {from: base}\nbuild:\n  env: {PYTHONPATH: /opt/own}\n");
    abx.write("other/files/.keep", "");
    let sandbox = abx.create(&[&template, "--network", "none"]);
    assert_eq!(sandbox.sh("echo $PYTHONPATH"), "/opt/own:/run/abx/python\n");
    let ask =
        "import agent_sandbox.server as s, agent_sandbox.sandbox as b; print(s.__file__); print(b.__file__)";
    let ours = "/run/abx/python/agent_sandbox/server/__init__.py\n/run/abx/python/agent_sandbox/sandbox.py\n";
    assert_eq!(sandbox.exec(&["python3", "-c", ask]).success(), ours);
    assert_eq!(abx.run(&["exec", &sandbox.id, "--user", "root", "--", "python3", "-c", ask]).success(), ours);
    assert_eq!(sandbox.exec(&["touch", "/run/abx/python/agent_sandbox/x"]).status, Some(1));
    // One that shares the name space, as the public package does, and one that is a whole package.
    sandbox.root_sh(
        "mkdir -p /opt/own/agent_sandbox/server; echo 'mark = 1' > /opt/own/agent_sandbox/server/__init__.py",
    );
    assert_eq!(
        sandbox.exec(&["python3", "-c", ask]).success(),
        "/opt/own/agent_sandbox/server/__init__.py\n/run/abx/python/agent_sandbox/sandbox.py\n"
    );
    sandbox.root_sh("echo 'whole = 1' > /opt/own/agent_sandbox/__init__.py");
    let whole = sandbox.exec(&["python3", "-c", "import agent_sandbox; print(agent_sandbox.whole)"]);
    assert_eq!(whole.success(), "1\n");
}
