//! Ports of a sandbox on the host's loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use abx_test::{LiveSandbox, wait_until};

use super::shared;

/// What the server behind a forwarded port answers; `None` while nothing answers.
fn get(address: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(b"GET /hello HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    (!answer.is_empty()).then_some(answer)
}

fn address_of(sandbox: &LiveSandbox<'_>, guest: u16) -> SocketAddr {
    let info = sandbox.info();
    let ports = info["ports"].as_array().expect("ports").clone();
    let port = ports.iter().find(|port| port["guest"] == guest).unwrap_or_else(|| panic!("{info:#}"));
    port["host"].as_str().expect("an address").parse().expect("an address")
}

const SERVE: &str =
    "cd /tmp && echo hello from inside > hello && nohup python3 -m http.server 8000 >/dev/null 2>&1 &";

#[test]
fn a_templates_port_is_where_info_prints_it() {
    let Some(abx) = shared() else { return };
    let template = abx.template("served", "base:\n  from: base\nnetwork:\n  ports: [8000, 9000]\n");
    let sandbox = abx.create(&[&template]);
    let address = address_of(&sandbox, 8000);
    assert!(address.ip().is_loopback(), "{address}");
    assert_ne!(address.port(), address_of(&sandbox, 9000).port());
    sandbox.sh(SERVE);
    let answer = wait_until("an answer", || get(address));
    assert!(answer.ends_with("hello from inside\n"), "{answer}");
    let shown = abx.run(&["info", &sandbox.id]).success();
    assert!(shown.contains(&format!("{address}->8000")), "{shown}");
    let listed = abx.run(&["list"]).success();
    assert!(listed.contains(&format!("{address}->8000")), "{listed}");
}

#[test]
fn a_callers_port_is_the_one_asked_for_and_closed_with_the_sandbox() {
    let Some(abx) = shared() else { return };
    let free = TcpListener::bind("127.0.0.1:0").expect("bind").local_addr().expect("address").port();
    let sandbox = abx.create(&["base", "--port", &format!("{free}:8000"), "--port", "0:8001"]);
    let address = address_of(&sandbox, 8000);
    assert_eq!(address, SocketAddr::from(([127, 0, 0, 1], free)));
    sandbox.sh(SERVE);
    wait_until("an answer", || get(address));
    abx.run(&["kill", &sandbox.id]).success();
    assert!(TcpStream::connect(address).is_err());
    TcpListener::bind(address).expect("the port is free again");
}

#[test]
fn a_port_in_use_is_an_error_that_names_it_and_leaves_no_sandbox() {
    let Some(abx) = shared() else { return };
    let taken = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = taken.local_addr().expect("address").port();
    let name = abx.name("taken");
    let words = ["create", "base", "--name", &name, "--port", &format!("{port}:8000")];
    let stderr = abx.run(&words).failure(1, "E2000");
    assert!(stderr.contains(&port.to_string()), "{stderr}");
    let listed = abx.run(&["list"]).success();
    assert!(!listed.contains(&name), "{listed}");
    let shown = abx.run(&["info", &name]).success();
    assert!(shown.contains("ended: startup failed"), "{shown}");
}

#[test]
fn a_server_on_the_sandboxes_own_loopback_is_reached_too() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--port", "0:8000"]);
    sandbox.sh(&SERVE.replace("8000", "8000 --bind 127.0.0.1"));
    let answer = wait_until("an answer", || get(address_of(&sandbox, 8000)));
    assert!(answer.ends_with("hello from inside\n"), "{answer}");
}

#[test]
fn a_sandbox_without_a_network_is_served_as_well() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--port", "0:8000", "--network", "none"]);
    sandbox.sh(SERVE);
    let answer = wait_until("an answer", || get(address_of(&sandbox, 8000)));
    assert!(answer.ends_with("hello from inside\n"), "{answer}");
}

#[test]
fn much_passes_a_port_unchanged() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--port", "0:8000"]);
    sandbox.sh("seq 1 3000000 > /tmp/hello.big");
    sandbox.sh(SERVE);
    let address = address_of(&sandbox, 8000);
    wait_until("an answer", || get(address));
    let mut stream = TcpStream::connect(address).expect("connect");
    stream.write_all(b"GET /hello.big HTTP/1.0\r\n\r\n").expect("ask");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answer");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    let expected: String = (1..=3_000_000).map(|number| format!("{number}\n")).collect();
    assert!(body == expected, "{} bytes instead of {}", body.len(), expected.len());
}

#[test]
fn the_ports_of_a_public_template_are_for_everybody() {
    let Some(abx) = shared() else { return };
    let template = abx.template("public", "base:\n  from: base\nnetwork:\n  ports: [8000]\n  public: true\n");
    let sandbox = abx.create(&[&template]);
    assert!(address_of(&sandbox, 8000).ip().is_unspecified());
}

#[test]
fn a_host_port_that_is_asked_for_twice_is_refused() {
    let Some(abx) = shared() else { return };
    let words = ["create", "base", "--port", "18999:80", "--port", "18999:81"];
    let stderr = abx.run(&words).failure(2, "E2004");
    assert!(stderr.contains("18999"), "{stderr}");
}

/// What `abx ports --json` says of a port inside; `None` where it says nothing.
fn port_of(abx: &abx_test::TestContext, id: &str, port: u16) -> Option<serde_json::Value> {
    let rows = abx.run(&["ports", id, "--json"]).json();
    rows.as_array().expect("rows").iter().find(|row| row["port"] == port).cloned()
}

#[test]
fn ports_opened_later_are_found_with_their_process() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--port", "0:8000", "--network", "none"]);
    let before = port_of(&abx, &sandbox.id, 8000).expect("forwarded");
    assert_eq!((before["addresses"].as_array().map(Vec::len), before["process"].is_null()), (Some(0), true));
    assert!(abx.run(&["ports", &sandbox.id]).success().contains("nothing listens"));

    sandbox.sh(SERVE);
    sandbox.sh("cd /tmp && nohup python3 -m http.server 8001 --bind ::1 >/dev/null 2>&1 &");
    let row = |port| {
        wait_until("a listener", || port_of(&abx, &sandbox.id, port).filter(|row| !row["process"].is_null()))
    };
    let (asked, later) = (row(8000), row(8001));
    assert_eq!(asked["host"], before["host"]);
    assert_eq!((later["addresses"][0].as_str(), later["host"].is_null()), (Some("::1"), true), "{later}");
    assert_eq!(later["process"]["command"], "python3 -m http.server 8001 --bind ::1");
    let shown = abx.run(&["ports", &sandbox.id]).success();
    let line = shown.lines().find(|line| line.starts_with("8001  ")).expect("a row");
    assert!(line.contains(&format!("({})", later["process"]["pid"])) && line.ends_with("ago"), "{shown}");
    // Names are served inside by the host, which is no process of the sandbox.
    assert_eq!(port_of(&abx, &sandbox.id, 53), None);
}

#[test]
fn a_port_is_forwarded_while_the_sandbox_runs() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    sandbox.sh(&SERVE.replace("8000", "8000 --bind ::1"));
    let ran = abx.run(&["ports", &sandbox.id, "--forward", "0:8000"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    let address = address_of(&sandbox, 8000);
    assert!(address.ip().is_loopback(), "{address}");
    assert!(ran.stderr.contains(&format!("{address} leads to port 8000 inside")), "{ran:#?}");
    let answer = wait_until("an answer", || get(address));
    assert!(answer.ends_with("hello from inside\n"), "{answer}");
    // Any host port will do, and one is there already.
    abx.run(&["ports", &sandbox.id, "--forward", "0:8000"]).success();
    assert_eq!(sandbox.info()["ports"].as_array().map(Vec::len), Some(1));

    let taken = TcpListener::bind("127.0.0.1:0").expect("bind");
    let wish = format!("{}:8000", taken.local_addr().expect("address").port());
    let stderr = abx.run(&["ports", &sandbox.id, "--forward", &wish]).failure(1, "E2000");
    assert!(stderr.contains("in use"), "{stderr}");
    abx.run(&["kill", &sandbox.id]).success();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn who_names_no_sandbox_or_no_ports_is_told() {
    let Some(abx) = shared() else { return };
    abx.run(&["ports", "nobody-of-this-name"]).failure(4, "E2009");
    assert_eq!(abx.run(&["ports", "x", "--forward", "80"]).status, Some(2));
}

#[test]
fn public_ports_are_reached_through_every_address_and_others_are_not() {
    let Some(abx) = shared() else { return };
    for (public, reached) in [(true, true), (false, false)] {
        let rest = format!("base:\n  from: base\nnetwork:\n  ports: [8000]\n  public: {public}\n");
        let template = abx.template(&format!("public-{public}"), &rest);
        let sandbox = abx.create(&[&template, "--network", "none"]);
        sandbox.sh(SERVE);
        let port = address_of(&sandbox, 8000).port();
        wait_until("an answer", || get(SocketAddr::from(([127, 0, 0, 1], port))));
        // Another address of this machine.
        assert_eq!(get(SocketAddr::from(([127, 0, 0, 2], port))).is_some(), reached);
        if std::path::Path::new("/proc/net/if_inet6").exists() {
            assert_eq!(get(SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, port))).is_some(), reached);
        }
    }
}

#[test]
fn who_is_paused_is_not_said_to_have_nothing_that_listens() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--port", "0:8000"]);
    assert!(abx.run(&["ports", &sandbox.id]).success().contains("nothing listens"));
    abx.run(&["pause", &sandbox.id]).success();
    let ran = abx.run(&["ports", &sandbox.id]);
    assert!(ran.stderr.contains("only what is forwarded is known"), "{ran:#?}");
    let table = ran.success();
    assert!(table.contains("8000") && !table.contains("nothing listens"), "{table}");
    assert_eq!(sandbox.info()["status"], "paused", "a look does not wake it");
}
