//! What counts as use of a sandbox beside commands: connections to its forwarded ports.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use abx_test::wait_until;

use super::shared;

#[test]
fn an_open_connection_to_a_forwarded_port_is_use_and_a_closed_one_is_none() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--port", "0:8000", "--idle-timeout", "3"]);
    let host = sandbox.info()["ports"][0]["host"].as_str().expect("an address").to_owned();
    let serve = "import socket, time; s = socket.create_server((\"127.0.0.1\", 8000)); c = s.accept()[0]; c.recv(1); c.close(); time.sleep(1000)";
    sandbox.sh(&format!(
        "nohup python3 -c '{serve}' >/dev/null 2>&1 & until grep -q :1F40 /proc/net/tcp; do sleep 0.05; done"
    ));
    let connection = TcpStream::connect(&host).expect("forwarded");
    // Nothing passes, for more than twice the timeout.
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(sandbox.info()["status"], "running");
    drop(connection);
    let info = wait_until("its end", || {
        let info = sandbox.info();
        (info["status"] == "ended").then_some(info)
    });
    assert_eq!((&info["reason"], &info["limit"]), (&"idle".into(), &3.into()));
}

#[test]
fn a_connection_wakes_who_is_paused_for_want_of_use_and_nobody_else() {
    let Some(abx) = shared() else { return };
    let startup = "mode: persistent\n  startup_command: exec python3 -m http.server 8000\n  readiness_probe: {type: tcp, port: 8000}";
    let template = abx.template("dozing", &format!("base: {{from: base}}\nsandbox:\n  {startup}\n"));
    let words = [&template, "--network", "none", "--port", "0:8000", "--idle-timeout", "1"];
    let sandbox = abx.create(&words);
    let paused = || wait_until("paused", || (sandbox.info()["status"] == "paused").then_some(()));
    let host = sandbox.info()["ports"][0]["host"].as_str().expect("an address").to_owned();
    let ask = |seconds| {
        let mut connection = TcpStream::connect(&host).expect("forwarded");
        connection.set_read_timeout(Some(Duration::from_secs(seconds))).expect("a timeout");
        connection.write_all(b"HEAD / HTTP/1.0\r\n\r\n").expect("sent");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).map(|_| answer)
    };
    paused();
    assert!(ask(20).expect("an answer").contains("200 OK"));
    paused();
    assert!(ask(20).expect("an answer, again").contains("200 OK"));
    // Who was paused on purpose stays so.
    abx.run(&["resume", &sandbox.id]).success();
    abx.run(&["pause", &sandbox.id]).success();
    ask(1).expect_err("no answer");
    assert_eq!(sandbox.info()["status"], "paused");
}
