//! Cells in the worker of ours: plain Python, no kernel installed.

use serde_json::json;

use crate::common::Server;

#[test]
fn cells_have_a_value_output_and_state() {
    let server = Server::start();
    let rows = [
        ("x = 6", "", "", "", ""),
        ("x * 7", "42", "", "", ""),
        ("print('a'); import sys; print('b', file=sys.stderr)", "", "a\n", "b\n", ""),
        ("'it is \"text\"'", "it is \"text\"", "", "", ""),
        ("1;", "", "", "", ""),
        ("None", "", "", "", ""),
        ("  indented = 1\n  indented", "1", "", "", ""),
        ("import asyncio\nawait asyncio.sleep(0)\n_", "1", "", "", ""),
        ("!echo shell; echo more >&2", "", "shell\n", "more\n", ""),
        ("import os; os.getenv('FROM_SANDBOX')", "yes", "", "", ""),
        ("import os; os.getcwd() == os.environ['HOME']", "True", "", "", ""),
        ("input()", "", "", "", "EOFError: EOF when reading a line"),
        ("1 / 0", "", "", "", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "", "", "", "SystemExit: 3"),
        ("def f(:", "", "", "", "SyntaxError: invalid syntax (<cell 15>, line 1)"),
        ("x", "6", "", "", ""),
    ];
    for (code, value, stdout, stderr, error) in rows {
        let execution = server.run(code, json!({}));
        let seen = (execution.value(), execution.stdout(), execution.stderr(), execution.error());
        assert_eq!(seen, (value.into(), stdout.into(), stderr.into(), error.into()), "{code}");
    }
}

#[test]
fn events_come_in_the_order_and_form_of_the_wire() {
    let server = Server::start();
    let execution =
        server.run("print('out')\ndisplay('shown')\n7", json!({"context_id": null, "env_vars": null}));
    let kinds: Vec<&str> = execution.events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds.len(), 5, "{kinds:?}");
    assert_eq!((kinds[0], kinds[4]), ("number_of_executions", "end_of_execution"));
    let results = execution.of("result");
    assert_eq!(results[0], &json!({"type": "result", "text": "shown", "is_main_result": false}));
    assert_eq!(results[1], &json!({"type": "result", "text": "7", "is_main_result": true}));
    assert!(execution.of("stdout")[0]["timestamp"].as_u64().expect("a number") > 1_700_000_000_000_000_000);
    assert_eq!(server.run("8", json!({})).of("number_of_executions")[0]["execution_count"], 2);
}

#[test]
fn a_traceback_shows_the_cell_and_nothing_of_ours() {
    let server = Server::start();
    let execution = server.run("def f():\n    raise ValueError('no')\n\nf()", json!({}));
    let traceback = execution.of("error")[0]["traceback"].as_str().expect("text");
    for part in ["File \"<cell 1>\", line 4", "f()", "raise ValueError('no')", "ValueError: no"] {
        assert!(traceback.contains(part), "{traceback}");
    }
    assert!(!traceback.contains("abx"), "{traceback}");
}

#[test]
fn variables_hold_for_one_cell() {
    let server = Server::start();
    let ask = "import os; print([os.getenv(n) for n in ('FROM_SANDBOX', 'NEW')])";
    let changed = json!({"env_vars": {"FROM_SANDBOX": "no", "NEW": "it's \"new\" ä\n"}});
    assert_eq!(server.run(ask, changed).stdout(), "['no', 'it\\'s \"new\" ä\\n']\n");
    assert_eq!(server.run(ask, json!({})).stdout(), "['yes', None]\n");
    let raising = server.run("1 / 0", json!({"env_vars": {"NEW": "1"}}));
    assert!(raising.error().starts_with("ZeroDivisionError"));
    assert_eq!(server.run(ask, json!({})).stdout(), "['yes', None]\n");
}

#[test]
fn output_comes_while_the_cell_runs_and_hanging_up_stops_it() {
    let server = Server::start();
    server.run("kept = 1", json!({}));
    let mut answer =
        server.begin("import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)", json!({}));
    answer.until_stdout("begun");
    drop(answer);
    assert_eq!(server.run("kept", json!({})).value(), "1", "the next cell runs, and with what was defined");
}

#[test]
fn a_cell_that_will_not_stop_loses_its_kernel() {
    let server = Server::start();
    let mut answer = server.begin(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun', flush=True)\n\
         while True: time.sleep(0.01)",
        json!({}),
    );
    answer.until_stdout("begun");
    drop(answer);
    let next = server.run("1", json!({}));
    assert_eq!(next.value(), "1");
    assert_eq!(next.of("kernel_restarted")[0]["reason"], "it did not stop when it was interrupted");
}

#[test]
fn a_kernel_that_dies_is_reported_and_replaced() {
    let server = Server::start();
    let dying = server.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", json!({}));
    assert_eq!(dying.error(), "KernelEnded: the kernel ended: killed by signal 9; what was defined is lost");
    assert_eq!(server.run("1", json!({})).value(), "1");
    let pid = server.run("import os; os.getpid()", json!({})).value();
    let pid = rustix::process::Pid::from_raw(pid.parse().expect("a number")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("kill");
    while rustix::process::test_kill_process(pid).is_ok() {
        // Until the server has collected it, which it does when it looks.
        let execution = server.run("2", json!({}));
        if !execution.of("kernel_restarted").is_empty() || !execution.error().is_empty() {
            break;
        }
    }
    assert_eq!(server.run("3", json!({})).value(), "3");
}

#[test]
fn a_great_deal_of_output_comes_whole() {
    let server = Server::start();
    let execution = server.run("for i in range(100000): print('line', i)", json!({}));
    let expect: String = (0..100_000).map(|number| format!("line {number}\n")).collect();
    assert!(execution.stdout() == expect, "{} bytes", execution.stdout().len());
    let text = server.run("'ä' * 3000000", json!({})).value();
    assert_eq!(text.chars().count(), 3_000_000);
}

#[test]
fn what_a_child_writes_later_blocks_nobody() {
    let server = Server::start();
    let code = "import subprocess\nchild = subprocess.Popen(['sh', '-c', 'cat /dev/zero'])";
    assert_eq!(server.run(code, json!({})).error(), "");
    assert_eq!(server.run("child.kill(); child.wait()", json!({})).value(), "-9");
}
