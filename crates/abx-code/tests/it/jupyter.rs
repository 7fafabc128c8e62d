//! Cells in Jupyter kernels: one of our own that speaks the wire, and the real one where it can be had.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::Server;

const KERNEL: &str = include_str!("kernel.py");

/// Installs the kernel as those for `languages`; interrupted by a signal, or by a message.
fn install(home: &Path, languages: &[(&str, &str)]) -> PathBuf {
    let data = home.join("jupyter");
    for (language, interrupt) in languages {
        let directory = data.join("kernels").join(format!("k-{language}"));
        std::fs::create_dir_all(&directory).expect("mkdir");
        std::fs::write(directory.join("kernel.py"), KERNEL).expect("kernel.py");
        let spec = json!({
            "argv": ["python3", "{resource_dir}/kernel.py", "{connection_file}"], "language": language,
            "interrupt_mode": interrupt, "env": {"OF_KERNEL": "1"},
        });
        std::fs::write(directory.join("kernel.json"), spec.to_string()).expect("kernel.json");
    }
    data
}

fn server(languages: &[(&str, &str)]) -> Server {
    Server::with(|env, home| {
        env.insert("JUPYTER_PATH".into(), install(home, languages).display().to_string());
    })
}

#[test]
fn what_a_kernel_says_comes_through() {
    let server = server(&[("words", "signal")]);
    let words = json!({"language": "words"});
    let execution = server.run("out=a others=b value='x'", words.clone());
    assert_eq!((execution.stdout(), execution.value()), ("a".into(), "x".into()));
    assert_eq!(execution.of("number_of_executions")[0]["execution_count"], 1);
    assert_eq!(execution.events.last().expect("some")["type"], "end_of_execution");
    let forms = r#"forms={"image/png":"aGk=","e2b/chart":{"type":"line"},"x/y":1}"#;
    assert_eq!(
        server.run(forms, words.clone()).of("result"),
        [
            &json!({"type": "result", "png": "aGk=", "chart": {"type": "line"}, "extra": {"x/y": 1}, "is_main_result": false})
        ]
    );
    let raised = server.run("raise=Oops", words.clone());
    assert_eq!(raised.error(), "Oops: why");
    assert_eq!(raised.of("error")[0]["traceback"], "one\ntwo");
    let after = server.run("out=ran", words);
    assert_eq!(
        (after.stdout(), after.error()),
        ("ran".into(), String::new()),
        "though it takes none for a moment"
    );
}

#[test]
fn hanging_up_interrupts_in_the_way_the_kernel_asks_for() {
    let server = server(&[("one", "signal"), ("two", "message")]);
    for language in ["one", "two"] {
        let mut answer = server.begin("wait", json!({"language": language}));
        answer.until_stdout("waiting");
        drop(answer);
        let after = server.run("out=free", json!({"language": language}));
        assert_eq!(
            (after.stdout(), after.of("number_of_executions")[0]["execution_count"].clone()),
            ("free".into(), json!(2))
        );
    }
}

#[test]
fn a_kernel_that_ends_is_reported_and_replaced() {
    let server = server(&[("words", "signal")]);
    let words = json!({"language": "words"});
    let dying = server.run("out=a die=3", words.clone());
    assert_eq!(dying.error(), "KernelEnded: the kernel ended: exit status 3; what was defined is lost");
    assert_eq!(server.run("value=1", words).of("number_of_executions")[0]["execution_count"], 1);
}

#[test]
fn one_that_does_not_start_tells_why() {
    let server = Server::with(|env, home| {
        let data = install(home, &[("words", "signal")]);
        std::fs::write(data.join("kernels/k-words/kernel.py"), "raise SystemExit('no such luck')")
            .expect("write");
        env.insert("JUPYTER_PATH".into(), data.display().to_string());
    });
    let error = server.run("out=a", json!({"language": "words"})).error();
    assert_eq!(error, "KernelError: the kernel `k-words` ended at once: exit status 1\nno such luck");
}

#[test]
fn what_is_too_large_is_left_out_and_said() {
    let server = server(&[("words", "signal")]);
    let execution = server.run("large=70000000 out=after", json!({"language": "words"}));
    assert_eq!(execution.stdout(), "after");
    assert_eq!(execution.stderr(), "abx: a result of more than 64 MiB was left out\n");
    assert!(execution.of("result").is_empty());
}

#[test]
fn default_contexts_are_those_of_kernels_that_are_there() {
    let server = server(&[("javascript", "signal"), ("r", "signal")]);
    let (_, text) = server.call("GET", "/contexts", "");
    let contexts: Vec<Value> = serde_json::from_str(&text).expect("json");
    let seen: Vec<(&str, &str)> = contexts
        .iter()
        .map(|context| {
            (context["language"].as_str().expect("text"), context["kernel"].as_str().expect("text"))
        })
        .collect();
    assert_eq!(seen, [("python", "worker"), ("javascript", "k-javascript")]);
    assert_eq!(server.run("out=ts", json!({"language": "ts"})).stdout(), "ts");
    assert_eq!(server.run("out=r", json!({"language": "R"})).stdout(), "r");
}

/// A virtual environment with the real kernel, made once for all tests of a target folder; `None` where none is to be
/// had, with the reason.
fn real_kernel() -> Option<PathBuf> {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ipykernel-7");
    let lock = std::fs::File::create(place.with_extension("lock")).expect("lock");
    lock.lock().expect("locked");
    if !place.join("whole").exists() {
        let run = |program: &Path, words: &[&str]| {
            let output = std::process::Command::new(program).args(words).output();
            match output {
                Ok(output) if output.status.success() => Ok(()),
                Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
                Err(error) => Err(error.to_string()),
            }
        };
        let _ = std::fs::remove_dir_all(&place);
        let made = run(Path::new("python3"), &["-m", "venv", &place.display().to_string()]).and_then(|()| {
            let words = [
                "install",
                "-q",
                "--no-input",
                "--disable-pip-version-check",
                "--timeout",
                "20",
                "ipykernel==7.*",
            ];
            run(&place.join("bin/pip"), &words)
        });
        if let Err(reason) = made {
            abx_test::skip(&format!(
                "ipykernel cannot be installed: {}",
                reason.lines().last().unwrap_or_default()
            ));
            return None;
        }
        std::fs::write(place.join("whole"), "").expect("mark");
    }
    Some(place)
}

#[test]
fn the_real_kernel_of_python_runs_cells() {
    let Some(place) = real_kernel() else { return };
    let server = Server::with(|env, _| {
        let path = format!("{}:{}", place.join("bin").display(), env["PATH"]);
        env.insert("PATH".into(), path);
        env.insert("JUPYTER_PATH".into(), place.join("share/jupyter").display().to_string());
        env.insert("ABX_AUTO_INSTALL".into(), "pip".into());
    });
    let rows = [
        ("x = 6\nx * 7", "42", "", ""),
        ("print('out'); 'text'", "text", "out\n", ""),
        ("    indented = 1\n    indented", "1", "", ""),
        ("!echo shell", "", "shell\r\n", ""),
        ("1 / 0", "", "", "ZeroDivisionError: division by zero"),
        ("import ipykernel.nothing", "", "", "ModuleNotFoundError: No module named 'ipykernel.nothing'"),
        ("import asnycio", "", "", "ModuleNotFoundError: No module named 'asnycio'"),
    ];
    for (code, value, stdout, error) in rows {
        let execution = server.run(code, json!({}));
        let seen = (execution.value(), execution.stdout(), execution.error());
        assert_eq!(seen, (value.into(), stdout.into(), error.into()), "{code}");
    }
    let latex = "from IPython.display import display; display({'text/latex': r'$x$'}, raw=True)";
    assert_eq!(
        server.run(latex, json!({})).of("result"),
        [&json!({"type": "result", "latex": "$x$", "is_main_result": false})]
    );
    let ask = "import os; os.getenv('FROM_SANDBOX')";
    assert_eq!(server.run(ask, json!({"env_vars": {"FROM_SANDBOX": "no"}})).value(), "no");
    assert_eq!(server.run(ask, json!({})).value(), "yes");
    let mut answer = server.begin("import time\nprint('begun')\ntime.sleep(3600)", json!({}));
    answer.until_stdout("begun");
    drop(answer);
    assert_eq!(server.run("x", json!({})).value(), "6");
    let names = "[name for name in dir() if 'abx' in name]";
    assert_eq!(server.run(names, json!({})).value(), "[]", "nothing of ours is among the names");
}
