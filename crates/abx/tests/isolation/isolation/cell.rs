//! A sandbox in which attempts are made.

use std::collections::BTreeMap;

use abx_test::{LiveSandbox, TestContext};

/// What attempts have at hand.
const PRELUDE: &str = include_str!("prelude.py");

/// Those who may be inside.
pub(crate) const EVERYBODY: [&str; 2] = ["root", "user"];

/// How attempts went: by name, `came through` or the kernel's word for the refusal.
pub(crate) type Verdicts = BTreeMap<String, String>;

/// Sandboxes of the smallest size that runs Python, without a network.
pub(crate) fn cell(abx: &TestContext) -> LiveSandbox<'_> {
    abx.create(&["base", "--network", "none", "--memory", "192", "--disk", "256", "--timeout", "240"])
}

/// Runs Python in the sandbox, with the [`PRELUDE`], and returns what it prints.
#[track_caller]
pub(crate) fn python(abx: &TestContext, sandbox: &LiveSandbox<'_>, user: &str, script: &str) -> String {
    let program = format!("{PRELUDE}\n{script}");
    abx.run(&["exec", &sandbox.id, "--user", user, "--", "python3", "-c", &program]).success()
}

/// Makes attempts: Python that calls `attempt(name, work)`.
#[track_caller]
pub(crate) fn attempts(abx: &TestContext, sandbox: &LiveSandbox<'_>, user: &str, script: &str) -> Verdicts {
    let output = python(abx, sandbox, user, script);
    let verdicts = output.lines().map(|line| {
        let (name, verdict) = line.rsplit_once(": ").unwrap_or_else(|| panic!("no verdict: {output}"));
        (name.to_owned(), verdict.to_owned())
    });
    verdicts.collect()
}

/// Makes attempts as everybody; each must be refused, with one of these words of the kernel.
#[track_caller]
pub(crate) fn all_refused(abx: &TestContext, sandbox: &LiveSandbox<'_>, script: &str, words: &[&str]) {
    for user in EVERYBODY {
        let verdicts = attempts(abx, sandbox, user, script);
        assert!(!verdicts.is_empty(), "nothing was attempted");
        let through: Vec<_> =
            verdicts.iter().filter(|(_, verdict)| !words.contains(&verdict.as_str())).collect();
        assert!(through.is_empty(), "as {user}: {through:#?}");
    }
}

/// The sandbox still serves, which shows that it was not the one to suffer.
#[track_caller]
pub(crate) fn still_serves(sandbox: &LiveSandbox<'_>) {
    assert_eq!(sandbox.sh("echo here"), "here\n");
}
