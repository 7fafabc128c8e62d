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
    abx.run(&["info", &name]).failure(4, "E2009");
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
