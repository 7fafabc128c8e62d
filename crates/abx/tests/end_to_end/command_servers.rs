//! Who serves named commands: a template's own server, the daemon where there is no Python.

use serde_json::json;

use super::commands::{RESIZE, value};
use super::shared;

#[test]
fn a_server_of_the_templates_own_is_taken() {
    let Some(abx) = shared() else { return };
    let template =
        abx.template("serving", "base: {from: base}\nsandbox:\n  startup_command: python3 server.py\n");
    let server = "import time\ntime.sleep(1)\nfrom agent_sandbox.server import command, start\n\n\
                  @command('mine')\ndef mine(a: int, b: int = 2): return a + b\n\nstart()\n";
    abx.write("serving/files/server.py", server);
    let sandbox = abx.create(&[&template, "--network", "none"]);
    // It is given the time to come up; ours would be in its way.
    assert_eq!(value(&abx, &sandbox, &["mine", "--arg", "a=40"]), json!(42));
    assert_eq!(sandbox.sh("pgrep -f '[a]gent_sandbox.server serve' || echo none"), "none\n");
}

#[test]
fn executables_need_no_python() {
    let Some(abx) = shared() else { return };
    let template = abx.template(
        "bare",
        "base: {from: base}\nbuild:\n  run: [\"rm -f /usr/bin/python3* /usr/bin/python /usr/local/bin/python*\"]\n",
    );
    abx.write("bare/commands/resize", RESIZE);
    let sandbox = abx.create(&[&template, "--network", "none"]);
    assert_eq!(sandbox.exec(&["python3", "-c", "1"]).status, Some(127));
    let table = abx.run(&["commands", &sandbox.id]).success();
    assert!(table.contains("width: integer, label: string = \"none\"  resizes a picture"), "{table}");
    assert_eq!(
        value(&abx, &sandbox, &["resize", "--arg", "width=7"]),
        json!({"width": 7, "label": "none", "input": {"label": "none", "width": 7}})
    );
    let told = abx.run(&["run", &sandbox.id, "resize", "--arg", "width=700"]).failure(1, "E3000");
    assert!(told.contains("`resize` failed: TooWide: wider than the paper"), "{told}");
    let told = abx.run(&["run", &sandbox.id, "resze"]).failure(4, "E3005");
    assert!(told.contains("did you mean `resize`?"), "{told}");
    assert_eq!(abx.run(&["run", &sandbox.id, "resize", "--arg-json", "width=true"]).status, Some(2));
    assert!(abx.run(&["logs", &sandbox.id]).success().contains("resizing to 7"));
    let health = sandbox.sh("curl -s http://127.0.0.1:9000/health");
    assert_eq!(health, "{\"status\":\"ok\"}");
}

#[test]
fn a_server_of_the_public_package_starts_unchanged() {
    let Some(abx) = shared() else { return };
    let template = abx.template(
        "public",
        "base: {from: python-base}\nbuild:\n  pip_install: [\"agent-sandbox-server==0.4.0a6\"]\n\
         sandbox:\n  startup_command: python server.py\n",
    );
    let server = "import agent_sandbox.server\nfrom agent_sandbox.server import command, start\n\n\
                  @command('greet', description='says hello')\n\
                  def greet(name: str, times: int = 1) -> str:\n    return 'hello ' + name * times\n\n\
                  @command('where')\ndef where(): return agent_sandbox.server.__file__\n\nstart(9000)\n";
    abx.write("public/files/server.py", server);
    let built = abx.run(&["template", "build", &template]);
    if built.status != Some(0) {
        abx_test::skip(&format!("the package cannot be installed here: {}", built.stderr));
        return;
    }
    let sandbox = abx.create(&[&template, "--network", "none"]);
    assert_eq!(
        value(&abx, &sandbox, &["greet", "--arg", "name=Ada", "--arg", "times=2"]),
        json!("hello AdaAda")
    );
    let place = value(&abx, &sandbox, &["where"]);
    assert!(place.as_str().is_some_and(|place| place.contains("dist-packages")), "{place}");
    let table = abx.run(&["commands", &sandbox.id]).success();
    assert!(table.contains("name: string, times: integer = 1  says hello"), "{table}");
    let told = abx.run(&["run", &sandbox.id, "gret"]).failure(4, "E3005");
    assert!(told.contains("did you mean `greet`?"), "{told}");
}
