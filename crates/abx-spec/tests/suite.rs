//! Files of tests: what is read, and every way in which one is refused.

use abx_core::Fault;
use abx_spec::suite::{Check, Command, Expect, Manager, parse};
use abx_spec::{Invalid, Suite};

fn read(text: &str) -> Result<Suite, Invalid> {
    parse(text, "tests/a.yaml")
}

fn check(test: &str) -> Check {
    let text = format!("tests:\n  - name: it\n{}", test.replace('\n', "\n    ").trim_end_matches(' '));
    let text = text.replacen("it\n", "it\n    ", 1);
    match read(&text) {
        Ok(mut suite) => suite.tests.remove(0).check,
        Err(invalid) => panic!("{invalid} in\n{text}"),
    }
}

/// Each fault as `line:column message`.
fn faults(text: &str) -> Vec<String> {
    let Err(invalid) = read(text) else { panic!("nothing is wrong with {text:?}") };
    let shown =
        |fault: &abx_spec::Diagnostic| format!("{}:{} {fault}", fault.snippet.line, fault.snippet.column);
    invalid.diagnostics().map(shown).collect()
}

#[test]
fn a_command_has_all_its_keys_read() {
    let Check::Run(run) = check(
        "run: ./hello\nuser: root\ncwd: /tmp\nenv: {A: 1}\nstdin: 'x'\nlogin: true\ntimeout: 1.5\nstatus: 3\n\
         stdout: whole\nstderr: {contains: [a, b], excludes: c, matches: ^d$}\n",
    ) else {
        panic!("another verb")
    };
    assert_eq!(run.command, Command::Shell("./hello".into()));
    assert_eq!((run.user.as_deref(), run.cwd.as_deref()), (Some("root"), Some("/tmp")));
    assert_eq!((run.env["A"].as_str(), run.stdin.as_deref()), ("1", Some("x")));
    assert_eq!((run.is_login, run.timeout), (true, 1.5));
    assert_eq!(run.status.map(|status| status.value), Some(3));
    let demands = |demands: &[abx_spec::At<Expect>]| -> Vec<Expect> {
        demands.iter().map(|demand| demand.value.clone()).collect()
    };
    assert_eq!(demands(&run.stdout), [Expect::Equals("whole".into())]);
    assert_eq!(
        demands(&run.stderr),
        [
            Expect::Contains("a".into()),
            Expect::Contains("b".into()),
            Expect::Excludes("c".into()),
            Expect::Matches("^d$".into())
        ]
    );
}

#[test]
fn what_is_absent_has_its_default() {
    let suite = read("tests:\n  - {name: a, run: [true, ' ']}\n  - {name: b, port: 80, fresh: true}\n");
    let faults = suite.expect_err("a boolean is no word");
    assert_eq!(faults.to_string(), "`run` must be a string, and `true` without quotes is a boolean");
    let suite = read("tests:\n  - {name: a, run: ['true', '']}\n  - {name: b, port: 80, fresh: true}\n")
        .expect("sound");
    let [one, other] = &suite.tests[..] else { panic!("two tests") };
    assert!(suite.sandbox.network.is_none() && !one.is_fresh && other.is_fresh);
    let Check::Run(run) = &one.check else { panic!("{one:#?}") };
    assert_eq!(run.command, Command::Words(vec!["true".into(), String::new()]));
    assert_eq!((run.timeout, run.status.is_none(), run.stdout.is_empty()), (60.0, true, true));
    let Check::Port(port) = &other.check else { panic!("{other:#?}") };
    assert_eq!((port.port.value, port.within, port.http.is_none()), (80, 10.0, true));
    assert_eq!((one.place.line, one.place.column), (2, 5));
}

#[test]
fn every_verb_is_read() {
    let verbs = [
        "run: x",
        "code: x\nlanguage: python\nresult: '1'\nformats: [png, text/x-own]\n",
        "code: 1 / 0\nerror: ZeroDivisionError\n",
        "call: greet\nargs: {name: you, times: 2}\nresult: {greeting: [hello]}\n",
        "call: greet\nerror: {contains: name}\n",
        "commands: [greet]",
        "programs: {git: '>=2.39', python: 3}",
        "programs: [git]",
        "packages: {apt: [git], pip: {rich: '>=14, <16'}, npm: {'@types/node': ^20}}",
        "file: /etc/passwd\ntype: file\nmode: '0644'\nowner: root\ngroup: root\ncontent: {contains: root}\n",
        "file: /nowhere\nexists: false\n",
        "port: 80\nwithin: 1\nhttp: {method: GET, path: /x, status: 404, body: {contains: no}}\n",
        "capabilities: []",
        "health: healthy\nwithin: 5\n",
        "resources: {cpu: 1, memory: 2048, ports: [80]}",
        "image: {caches: false, max_size: 300}",
    ];
    for text in verbs {
        let verb = text.split(':').next().expect("a verb");
        assert_eq!(check(text).verb(), verb, "{text}");
    }
    let Check::Packages(packages) = check("packages: {apt: [git], pip: {rich: '>=14, <16'}}") else {
        panic!()
    };
    assert_eq!(packages[0].value.manager, Manager::Apt);
    assert!(packages[1].value.range.as_ref().is_some_and(|range| range.contains("15.0.1")));
}

#[test]
fn what_is_wrong_is_named_at_its_place() {
    let rows = [
        ("", "1:1 a file of tests is a map with the list `tests`, not an empty file"),
        ("- a\n", "1:1 a file of tests is a map with the list `tests`, not a list"),
        ("tests: [\n", "1:8 this is no YAML"),
        ("test: []\n", "1:1 unknown key `test`"),
        ("tests: {a: 1}\n", "1:8 `tests` must be a list, not a map"),
        ("tests: [a]\n", "1:9 `tests` must be a list of maps with `name` and what to look at, not a string"),
        ("tests: [{run: x}]\n", "1:9 the key `name` is missing"),
        ("tests: [{name: a}]\n", "1:9 this test looks at nothing"),
        ("tests: [{name: a, runn: x}]\n", "1:19 unknown key `runn` in `tests`"),
        ("tests: [{name: a, run: x, port: 80}]\n", "1:27 this test looks at two things: `run` and `port`"),
        ("tests: [{name: a, port: 80, stdout: x}]\n", "1:29 a test with `port` has no use for `stdout`"),
        ("tests: [{name: a, run: x, stdot: y}]\n", "1:27 unknown key `stdot` in `tests`"),
        (
            "tests: [{name: a, run: x}, {name: a, run: y}]\n",
            "1:28 the test `a` is there twice, first in line 1",
        ),
        (
            "tests: [{name: a, run: x, stdout: 3}]\n",
            "1:35 `stdout` must be a string, and `3` without quotes is a number",
        ),
        ("tests: [{name: a, run: x, stdout: {is: y}}]\n", "1:36 unknown key `is` in `stdout`"),
        ("tests: [{name: a, run: x, stdout: {matches: '('}}]\n", "1:45 `(` is no regular expression"),
        ("tests: [{name: a, run: x, status: 256}]\n", "1:35 `status` is 256, outside of 0 to 255"),
        (
            "tests: [{name: a, run: [x], login: true}]\n",
            "1:29 `login` and `a list of words in `run`` exclude each other",
        ),
        ("tests: [{name: a, programs: {git: new}}]\n", "1:35 `new` is no range of versions"),
        (
            "tests: [{name: a, programs: {python: 3.10}}]\n",
            "1:38 `programs.python` must be a string, and `3.10` without quotes is a number",
        ),
        ("tests: [{name: a, packages: {gem: [x]}}]\n", "1:30 unknown key `gem` in `packages`"),
        ("tests: [{name: a, file: /x, mode: '0888'}]\n", "1:35 `0888` are no permissions"),
        (
            "tests: [{name: a, file: /x, exists: false, owner: me}]\n",
            "1:44 a test with `exists: false` has no use for `owner`",
        ),
        ("tests: [{name: a, code: x, formats: [gif]}]\n", "1:38 `formats` is `gif`, which is none of"),
        ("tests: [{name: a, health: well}]\n", "1:27 `health` is `well`, which is none of"),
        ("tests: [{name: a, resources: {ram: 1}}]\n", "1:31 unknown key `ram` in `resources`"),
        ("sandbox: {network: off}\ntests: []\n", "1:20 `sandbox.network` is `off`, which is none of"),
        (
            "tests: [{name: a, call: x, result: 1, error: {contains: y}}]\n",
            "1:39 `error` and `result` exclude each other",
        ),
        ("tests: [{name: a, name: b, run: x}]\n", "1:19 the key `name` is there twice"),
    ];
    for (text, expected) in rows {
        let found = faults(text);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{found:#?}\nof {text}");
    }
}

#[test]
fn slips_are_put_right_and_every_fault_is_told_at_once() {
    let Err(invalid) = read(
        "tests:\n  - {name: a, run: x, stdot: y}\n  - {name: b, runn: x}\n  - {name: c, programs: {git: new}}\n",
    ) else {
        panic!("sound")
    };
    let hints: Vec<String> = invalid.diagnostics().flat_map(Fault::hints).collect();
    assert_eq!(hints[..2], ["did you mean `stdout`?", "did you mean `run`?"]);
    assert_eq!(invalid.diagnostics().count(), 3);
}
