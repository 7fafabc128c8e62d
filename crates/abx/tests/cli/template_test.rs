//! `abx template test` before there is a sandbox: what it reads, and what it refuses.

use crate::support::Abx;

/// A template with a file of tests.
fn with_tests(abx: &Abx, tests: &str) {
    assert_eq!(abx.run(&["template", "init", "shop"]).status, Some(0));
    std::fs::write(abx.home().join("shop/tests/hello.yaml"), tests).expect("write");
}

#[test]
fn every_fault_of_a_file_of_tests_is_told_with_its_place() {
    let abx = Abx::new();
    with_tests(&abx, "tests:\n  - name: it greets\n    run: ./hello\n    stdot: hello\n  - name: alone\n");
    for verb in ["test", "validate"] {
        let ran = abx.run(&["template", verb, "./shop"]);
        assert_eq!(ran.status, Some(2), "{verb}: {ran:#?}");
        for line in [
            "error[E2004]: unknown key `stdot` in `tests`",
            " --> ./shop/tests/hello.yaml:4:5",
            "help: did you mean `stdout`?",
            "error[E2004]: this test looks at nothing",
            " --> ./shop/tests/hello.yaml:5:5",
        ] {
            assert!(ran.stderr.contains(line), "{verb}: no {line:?} in\n{}", ran.stderr);
        }
    }
}

#[test]
fn nothing_to_run_is_no_success() {
    let abx = Abx::new();
    with_tests(&abx, "tests: []\n");
    let ran = abx.run(&["template", "test", "./shop"]);
    assert_eq!((ran.status, ran.error_code().as_str()), (Some(4), "E4001"), "{ran:#?}");
    assert!(ran.stderr.contains("there are no tests in `./shop`"), "{ran:#?}");
    with_no_match(&abx);
}

fn with_no_match(abx: &Abx) {
    std::fs::write(abx.home().join("shop/tests/hello.yaml"), "tests: [{name: a, run: x}]\n").expect("write");
    let ran = abx.run(&["template", "test", "./shop", "--filter", "greets"]);
    assert!(ran.stderr.contains("no test of `./shop` is called `greets`"), "{ran:#?}");
}
