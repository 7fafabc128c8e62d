//! Missing modules, with a pip of our own: what is installed, what is not, and that it ends.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Execution, Server};

/// A `pip` that knows three distributions: `PyYAML` and `guess` (a wheel with a module), and `bad` (one without).
const PIP: &str = r#"
import os, pathlib, sys, zipfile
words = [word for word in sys.argv[1:] if not word.startswith("-")]
with open(os.environ["PIP_LOG"], "a") as log: print(*words, file=log)
site = pathlib.Path(os.environ["PIP_SITE"])
modules = {"PyYAML": "yaml", "guess": "guess", "bad": "other", "beautifulsoup4": "bs4"}
if words[0] == "download":
    folder, name = words[1:]
    if name not in modules:
        print("ERROR: No matching distribution found for", name, file=sys.stderr)
        sys.exit(1)
    with zipfile.ZipFile(pathlib.Path(folder, name + ".whl"), "w") as wheel:
        wheel.writestr(modules[name] + "/__init__.py", "")
else:
    for name in words[1:]:
        name = pathlib.Path(name).stem
        if name == "scikit-learn":
            print("ERROR: no space", file=sys.stderr)
            sys.exit(1)
        (site / (modules[name] + ".py")).write_text("value = 7")
"#;

fn server(how: &str) -> Server {
    Server::with(|env, home| {
        let (pip, site) = (home.join("lib/pip"), home.join("site"));
        std::fs::create_dir_all(&pip).expect("mkdir");
        std::fs::create_dir(&site).expect("mkdir");
        std::fs::write(pip.join("__main__.py"), PIP).expect("pip");
        std::fs::write(pip.join("__init__.py"), "").expect("pip");
        env.insert("PYTHONPATH".into(), format!("{}:{}", home.join("lib").display(), site.display()));
        env.insert("PIP_LOG".into(), home.join("pip.log").display().to_string());
        env.insert("PIP_SITE".into(), site.display().to_string());
        env.insert("ABX_AUTO_INSTALL".into(), how.into());
    })
}

fn asked(home: &Path) -> String {
    std::fs::read_to_string(home.join("pip.log")).unwrap_or_default()
}

fn news(execution: &Execution) -> Value {
    execution.of("auto_install").first().map_or(Value::Null, |event| (*event).clone())
}

#[test]
fn the_distribution_of_a_missing_module_is_installed_and_the_cell_runs_once_more() {
    let server = server("pip");
    // On a machine that has them these are no missing modules.
    let hide = "import sys\nsys.path[:] = [p for p in sys.path if 'packages' not in p]\nsys.path_importer_cache.clear()";
    assert_eq!(server.run(hide, json!({})).error(), "");
    let execution = server.run("print('once')\nimport yaml, bs4\nyaml.value", json!({}));
    assert_eq!((execution.value(), execution.error()), ("7".into(), String::new()));
    assert_eq!(execution.stdout(), "once\nonce\n");
    assert_eq!(asked(server.home()), "install PyYAML beautifulsoup4\n");
    assert_eq!(
        execution.stderr(),
        "abx: installed PyYAML, beautifulsoup4 for `yaml`; the cell runs once more\n"
    );
    let told = news(&execution);
    assert_eq!((&told["module"], &told["installed"]), (&json!("yaml"), &json!(true)));
    assert_eq!(server.run("import yaml; yaml.value", json!({})).of("auto_install").len(), 0);
}

#[test]
fn a_guess_is_looked_into_before_anything_of_it_runs() {
    let server = server("pip");
    assert_eq!(server.run("import guess; guess.__name__", json!({})).value(), "guess");
    let asked_for = asked(server.home());
    let lines: Vec<&str> = asked_for.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].starts_with("download /") && lines[1].ends_with("/guess.whl"),
        "{asked_for}"
    );
    let bad = server.run("import bad", json!({}));
    assert_eq!(bad.error(), "ModuleNotFoundError: No module named 'bad'");
    assert_eq!(news(&bad)["reason"], "the distribution `bad` has no such module");
    let unknown = server.run("import unheard_of", json!({}));
    assert_eq!(unknown.error(), "ModuleNotFoundError: No module named 'unheard_of'");
    assert_eq!(news(&unknown)["reason"], "there is no such distribution");
}

#[test]
fn what_is_no_missing_distribution_stays_an_error() {
    let server = server("pip");
    std::fs::create_dir(server.home().join("src")).expect("mkdir");
    std::fs::write(server.home().join("src/helpers.py"), "").expect("write");
    let rows = [
        ("import helpers", "it looks like your own src/helpers.py, whose folder is not in sys.path"),
        ("import pandsa", "did you mean `pandas`?"),
        ("import jsn.decoder", "-"),
        ("import json.nothing", "-"),
        ("import email.nothing", "`email` is there, and has no such part"),
        ("import _private_thing", "it is private to something else"),
    ];
    for (code, reason) in rows {
        let execution = server.run(code, json!({}));
        assert!(execution.error().starts_with("ModuleNotFoundError: No module named"), "{code}");
        if reason != "-" {
            assert_eq!(news(&execution)["reason"], reason, "{code}");
        }
        assert_eq!(
            asked(server.home()).lines().filter(|line| line.starts_with("install")).count(),
            0,
            "{code}"
        );
    }
}

#[test]
fn a_cell_that_still_lacks_a_module_ends_with_its_error() {
    let server = server("pip");
    // Each run removes what was installed for it.
    let code = "import sys, os, glob\nimport guess\nsys.modules.pop('guess')\n\
                for f in glob.glob(os.environ['PIP_SITE'] + '/*.py'): os.remove(f)\n\
                import importlib; importlib.invalidate_caches()\nimport guess";
    let execution = server.run(code, json!({}));
    assert_eq!(execution.error(), "ModuleNotFoundError: No module named 'guess'");
    assert_eq!(execution.of("auto_install").len(), 1);
}

#[test]
fn it_is_off_where_nobody_asked_and_can_be_turned_off() {
    let execution = server("").run("import guess", json!({}));
    assert_eq!(
        (execution.error().as_str(), news(&execution)),
        ("ModuleNotFoundError: No module named 'guess'", Value::Null)
    );
    let server = server("pip");
    let execution = server.run("import guess", json!({"auto_install": false}));
    assert_eq!(news(&execution), Value::Null);
    assert_eq!(asked(server.home()), "");
}
