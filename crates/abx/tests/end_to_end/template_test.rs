//! `abx template test`: a package's own tests, and those of the templates that come with the program.

use abx_test::{TestContext, skip};

use super::shared;

const TESTS: &str = "\
sandbox: {network: none, env: {WORD: given}}
tests:
  - {name: a variable of the file, run: echo $WORD, stdout: given}
  - name: everything a command is judged by
    run: [sh, -c, 'cat; echo $WHO; pwd; id -un; echo oops >&2; exit 3']
    stdin: \"typed\\n\"
    env: {WHO: me}
    cwd: /tmp
    user: root
    status: 3
    stdout: \"typed\\nme\\n/tmp\\nroot\"
    stderr: {contains: oops}
  - {name: one leaves something, run: touch /tmp/left}
  - {name: the next one sees it, file: /tmp/left, type: file, owner: user, mode: '0644'}
  - {name: a sandbox of its own does not, fresh: true, file: /tmp/left, exists: false}
  - {name: programs, programs: {git: '>=2', python: '3.11'}}
  - {name: packages, packages: {apt: {jq: '1.6'}, pip: {rich: '*'}}}
  - {name: limits, resources: {cpu: 1, memory: 2048, user: user, ports: []}}
  - {name: capabilities, capabilities: [shell, files, code]}
  - {name: health, health: none}
  - {name: a cell, code: 'x = 6 * 7', timeout: 120}
  - {name: another one, code: x, result: '42'}
  - {name: a command, call: add, args: {a: 40, b: 2}, result: 42, timeout: 120}
  - {name: a command that fails, call: add, args: {a: 40}, error: {contains: b}}
  - {name: it is listed, commands: [add]}
  - name: a server
    run: mkdir -p /tmp/site && cd /tmp/site && echo here > page && (python -m http.server 8123 > /dev/null 2>&1 &)
  - {name: it answers, port: 8123, within: 60, http: {path: /page, body: here}}
  - {name: the image, image: {caches: false, max_size: 100000}}
";

const COMMANDS: &str = "\
from agent_sandbox import sandbox


@sandbox.register
def add(a: int, b: int) -> int:
    return a + b
";

fn package(abx: &TestContext, tests: &str) -> String {
    let reference = abx.template("mine", "base: {from: python-base}\n");
    abx.write("mine/tests/all.yaml", tests);
    abx.write("mine/commands.py", COMMANDS);
    reference
}

#[test]
fn every_verb_passes_where_what_it_demands_holds() {
    let Some(abx) = shared() else { return };
    let reference = package(&abx, TESTS);
    let ran = abx.run(&["template", "test", &reference]);
    assert_eq!(ran.status, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.ends_with("\n18 passed, 0 failed of mine:0.0.0\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("  ok     a server "), "{}", ran.stdout);
}

#[test]
fn what_fails_is_told_with_both_sides_at_its_place() {
    let Some(abx) = shared() else { return };
    let tests = "tests:\n  - name: good\n    run: echo one\n    stdout: one\n  - name: bad\n    run: echo one; echo why >&2\n    stdout: two\n  \
                 - name: none there\n    port: 9999\n    within: 0.1\n";
    let reference = package(&abx, tests);
    let ran = abx.run(&["template", "test", &reference, "--junit", "out/results.xml"]);
    assert_eq!(ran.status, Some(1), "{ran:#?}");
    for part in [
        "  ok     good",
        "  FAILED bad",
        "/tests/all.yaml:7:13: stdout\n           expected: two\n           actual:   one\n         | stderr:\n         | why\n",
        "/tests/all.yaml:9:11: port 9999\n           expected: somebody who listens within 0.1 s\n           actual:   nobody\n",
        "\n1 passed, 2 failed of mine:0.0.0\n",
    ] {
        assert!(ran.stdout.contains(part), "no {part:?} in\n{}", ran.stdout);
    }
    let junit = std::fs::read_to_string(abx.folder().join("out/results.xml")).expect("written");
    assert!(junit.contains("<testsuites name=\"mine:0.0.0\" tests=\"3\" failures=\"2\""), "{junit}");
    let ran = abx.run(&["template", "test", &reference, "--filter", "good", "--json", "--keep"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    let report = ran.json();
    let file = &report["files"][0];
    let kept = abx.adopt(file["kept"][0].as_str().expect("an id"));
    assert_eq!(file["tests"].as_array().map(Vec::len), Some(1), "{report:#}");
    assert_eq!((&file["tests"][0]["name"], &file["tests"][0]["passed"]), (&"good".into(), &true.into()));
    assert_eq!(kept.sh("echo alive"), "alive\n");
}

#[test]
fn a_sandbox_that_does_not_start_fails_its_tests() {
    let Some(abx) = shared() else { return };
    let probe = "sandbox:\n  startup_command: exit 7\n  readiness_probe: {type: tcp, port: 80, timeout: 5}\n";
    let reference = abx.template("mine", &format!("base: {{from: base}}\n{probe}"));
    abx.write("mine/tests/all.yaml", "tests: [{name: any, run: 'true'}]\n");
    let ran = abx.run(&["template", "test", &reference]);
    assert_eq!(ran.status, Some(1), "{ran:#?}");
    assert!(ran.stdout.contains("/tests/all.yaml:1:9: the sandbox"), "{}", ran.stdout);
}

#[test]
fn a_new_template_passes_the_tests_it_comes_with() {
    let Some(abx) = shared() else { return };
    abx.run(&["template", "init", "fresh"]).success();
    let ran = abx.run(&["template", "test", "./fresh"]);
    assert_eq!(ran.status, Some(0), "{}\n{}", ran.stdout, ran.stderr);
}

#[test]
fn base_passes_its_own_tests() {
    passes("base");
}

#[test]
fn python_base_passes_its_own_tests() {
    passes("python-base");
}

#[test]
fn node_web_passes_its_own_tests() {
    passes("node-web");
}

fn passes(template: &str) {
    let Some(abx) = shared() else { return };
    let built = abx.run(&["template", "build", template]);
    let far = [
        "No matching distribution",
        "Max retries exceeded",
        "ENOTFOUND",
        "ECONNREFUSED",
        "Temporary failure",
    ];
    if built.status != Some(0) && far.iter().any(|sign| built.stderr.contains(sign)) {
        skip(&format!("what {template} is made of is not within reach"));
        return;
    }
    built.success();
    let ran = abx.run(&["template", "test", template]);
    assert_eq!(ran.status, Some(0), "{}\n{}", ran.stdout, ran.stderr);
}
