//! `abx code`: cells that remember, what is shown of them, and who may run them.

use std::process::Stdio;

use abx_test::{skip, wait_until};

use super::shared;

#[test]
fn cells_remember_and_their_values_output_and_errors_are_shown() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--env", "GREETING=hello"]);
    let code = |words: &[&str]| abx.run(&[&["code", &sandbox.id][..], words].concat());
    assert_eq!(code(&["x = 6"]).success(), "");
    assert_eq!(code(&["print('out')\nx * 7"]).success(), "out\n42\n");
    assert_eq!(code(&["import os; print(os.getcwd(), os.environ['GREETING'])"]).success(), "/app hello\n");
    assert_eq!(code(&["--env", "GREETING=bye", "os.environ['GREETING']"]).success(), "bye\n");
    assert_eq!(code(&["os.environ['GREETING']"]).success(), "hello\n");
    let raised = code(&["1 / 0"]);
    assert_eq!((raised.status, raised.stdout.as_str()), (Some(1), ""));
    for part in ["ZeroDivisionError: division by zero", "error[E3003]: the code raised ZeroDivisionError"] {
        assert!(raised.stderr.contains(part), "{raised:#?}");
    }
    let whole = code(&["--json", "print('a')\n1"]).json();
    assert_eq!((&whole["stdout"], &whole["results"][0]["text"]), (&"a\n".into(), &"1".into()));
    code(&["--timeout", "1", "while True: pass"]).failure(5, "E3001");
    assert_eq!(code(&["x"]).success(), "6\n", "what was defined is there after the time limit too");
    abx.write("cell.py", "'from a file'");
    assert_eq!(
        code(&["-f", abx.folder().join("cell.py").to_str().expect("utf-8")]).success(),
        "from a file\n"
    );
}

#[test]
fn contexts_are_made_listed_restarted_and_removed() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let code = |words: &[&str]| abx.run(&[&["code", &sandbox.id][..], words].concat()).success();
    let id = code(&["--new", "--cwd", "/tmp"]).trim().to_owned();
    let own = &id[..10];
    assert_eq!(code(&["--context", own, "import os; y = 1; os.getcwd()"]), "/tmp\n");
    let table = code(&["--contexts"]);
    let row = table.lines().find(|line| line.contains(&id)).expect("listed");
    assert!(row.contains("python") && row.contains("idle") && row.ends_with("/tmp"), "{table}");
    code(&["--restart", own]);
    let forgotten = abx.run(&["code", &sandbox.id, "--context", own, "y"]);
    assert!(forgotten.stderr.contains("NameError: name 'y' is not defined"), "{forgotten:#?}");
    code(&["--remove", own]);
    abx.run(&["code", &sandbox.id, "--context", &id, "1"]).failure(1, "E3006");
}

#[test]
fn an_interrupt_stops_the_cell_and_not_what_it_knows() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let code = |words: &[&str]| abx.run(&[&["code", &sandbox.id][..], words].concat());
    code(&["x = 1"]).success();
    let endless = "open('/tmp/begun', 'w').close()\nwhile True: pass";
    let mut child = abx.command(&["code", &sandbox.id, endless]).stdout(Stdio::null()).spawn().expect("abx");
    wait_until("the cell runs", || {
        sandbox.exec(&["test", "-e", "/tmp/begun"]).status.filter(|status| *status == 0)
    });
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("kill");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(code(&["x"]).success(), "1\n");
}

#[test]
fn a_template_that_does_not_grant_it_is_named_with_its_line() {
    let Some(abx) = shared() else { return };
    abx.template("sealed", "base:\n  from: base\ncapabilities: [shell, files]\n");
    let child = abx.template("child", "base:\n  from: ../sealed\n");
    let sandbox = abx.create(&[&child, "--network", "none"]);
    let refused = abx.run(&["code", &sandbox.id, "1"]);
    let message = refused.failure(1, "E3004");
    for part in ["`code`", "child:0.0.0", "sealed/template.yaml:", "grants shell, files"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(sandbox.info()["capabilities"], serde_json::json!(["shell", "files"]));
    let granted = abx.create(&[&child, "--network", "none", "--capabilities", "shell,code"]);
    assert_eq!(abx.run(&["code", &granted.id, "6 * 7"]).success(), "42\n");
    let taken = abx.create(&["base", "--network", "none", "--capabilities", "shell"]);
    let message = abx.run(&["code", &taken.id, "1"]).failure(1, "E3004");
    assert!(message.contains("--capabilities grants shell"), "{message}");
    abx.run(&["create", "base", "--capabilities", "fly"]).failure(2, "E2004");
}

#[test]
fn a_real_kernel_shows_pictures_and_has_what_it_lacks_installed() {
    let Some(abx) = shared() else { return };
    let template = abx.template(
        "kernel",
        "base:\n  from: python-base\nbuild:\n  pip_install: [\"ipykernel==7.*\"]\n  env: {ABX_AUTO_INSTALL: pip}\n",
    );
    let built = abx.run(&["template", "build", &template]);
    if built.status != Some(0) && built.stderr.contains("E7010") {
        return skip("ipykernel cannot be installed here");
    }
    built.success();
    let sandbox = abx.create(&[&template]);
    let code = |words: &[&str]| abx.run(&[&["code", &sandbox.id][..], words].concat());
    let output = abx.folder().join("pictures");
    let output = output.to_str().expect("utf-8");
    let picture = "from IPython.display import Image, Latex, display\n\
                   display(Image(data=bytes.fromhex('89504e470d0a1a0a') + b'rest', format='png'))\ndisplay(Latex('$x$'))";
    let shown = code(&["--output", output, picture]).success();
    assert!(shown.contains("result-1.png") && shown.contains("result-2.tex"), "{shown}");
    assert_eq!(std::fs::read(format!("{output}/result-1.png")).expect("saved"), b"\x89PNG\r\n\x1a\nrest");
    let lacking = code(&["import bs4; bs4.BeautifulSoup('<b>x</b>', 'html.parser').b.text"]);
    if lacking.status == Some(0) {
        assert_eq!(lacking.stdout, "x\n");
        assert!(lacking.stderr.contains("installed beautifulsoup4"), "{lacking:#?}");
    }
    code(&["--no-auto-install", "import yaml"]).failure(1, "E3003");
}
