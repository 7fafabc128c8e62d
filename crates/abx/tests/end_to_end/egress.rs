//! What of the outside a sandbox may reach.

use std::net::TcpListener;

use abx_test::outside::{Known, Outside, Resolver};
use abx_test::{LiveSandbox, Ran, TestContext, run, wait_until};

use super::shared;

/// Connects and prints what is said.
const FETCH: &str = "import socket, sys\n\
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20); s.sendall(b'hi\\n'); print(s.recv(99).decode(), end='')";

fn fetch(sandbox: &LiveSandbox<'_>, host: &str, port: u16) -> Ran {
    sandbox.exec(&["python3", "-c", FETCH, host, &port.to_string()])
}

#[track_caller]
fn assert_reached(sandbox: &LiveSandbox<'_>, host: &str, port: u16) {
    let ran = fetch(sandbox, host, port);
    assert!(ran.status == Some(0) && ran.stdout.starts_with("hello from "), "{host}:{port}: {ran:#?}");
    assert!(!ran.stderr.contains("E3010"), "{ran:#?}");
}

/// Refused, and its caller told so in these words.
#[track_caller]
fn assert_refused(sandbox: &LiveSandbox<'_>, host: &str, port: u16, words: &str) {
    let ran = fetch(sandbox, host, port);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(1), ""), "{host}:{port}: {ran:#?}");
    let is_told = |line: &str| line == format!("error[E3010]: egress denied {words}");
    assert!(ran.stderr.lines().any(is_told), "no `{words}`: {ran:#?}");
}

/// Creates a sandbox whose names are asked for there.
fn create<'a>(abx: &'a TestContext, resolver: &Resolver, words: &[&str]) -> LiveSandbox<'a> {
    let command = resolver.used_by(&abx.command(&[&["create"], words].concat()));
    abx.adopt(run(command).success().trim_end())
}

fn log(abx: &TestContext, sandbox: &LiveSandbox<'_>) -> String {
    abx.run(&["logs", &sandbox.id]).success()
}

#[test]
fn a_template_allows_names_and_nothing_else() {
    let (Some(abx), Some(outside)) = (shared(), Outside::new()) else { return };
    let (good, wild, other) = (outside.address(0), outside.address(1), outside.address(2));
    let resolver = Resolver::new(&[
        ("good.example", Known::Address(good)),
        ("a.b.wild.example", Known::Alias("cdn.example", wild)),
        ("wild.example", Known::Address(wild)),
        ("evil.example", Known::Address(other)),
    ]);
    let rest =
        "base:\n  from: python-base\nnetwork:\n  egress:\n    allow: [good.example, \"*.wild.example:80\"]\n";
    let template = abx.template("guarded", rest);
    let sandbox = create(&abx, &resolver, &[&template]);
    let default = "by the default, `deny`";

    assert_refused(&sandbox, &good.to_string(), 80, &format!("tcp {good}:80 {default}"));
    assert_reached(&sandbox, "good.example", 80);
    assert_reached(&sandbox, "GOOD.example", 443);
    assert_reached(&sandbox, &good.to_string(), 80);
    assert_reached(&sandbox, "a.b.wild.example", 80);
    assert_refused(
        &sandbox,
        "a.b.wild.example",
        443,
        &format!("tcp {wild}:443 (a.b.wild.example) {default}"),
    );
    assert_refused(&sandbox, "wild.example", 80, &format!("dns wild.example {default}"));
    assert_refused(&sandbox, "evil.example", 80, &format!("dns evil.example {default}"));
    assert_refused(&sandbox, &other.to_string(), 80, &format!("tcp {other}:80 {default}"));
    // A name that is allowed and does not exist is no refusal.
    let ran = fetch(&sandbox, "nobody.wild.example", 80);
    assert!(ran.status == Some(1) && !ran.stderr.contains("E3010"), "{ran:#?}");

    let log = log(&abx, &sandbox);
    for line in [
        format!("egress denied dns evil.example {default}"),
        format!("egress denied tcp {other}:80 {default}"),
    ] {
        assert_eq!(log.lines().filter(|known| *known == line).count(), 1, "{log}");
    }
    let shown = abx.run(&["info", &sandbox.id]).success();
    assert!(shown.contains("allow good.example, allow *.wild.example:80, else deny\n"), "{shown}");
    assert_eq!(sandbox.info()["egress"]["default"], "deny");
}

#[test]
fn names_are_denied_and_the_rest_is_reached() {
    let (Some(abx), Some(outside)) = (shared(), Outside::new()) else { return };
    let (one, other) = (outside.address(0), outside.address(1));
    let resolver = Resolver::new(&[
        ("good.example", Known::Address(one)),
        ("evil.example", Known::Address(other)),
        ("masked.example", Known::Alias("evil.example", other)),
    ]);
    let sandbox = create(&abx, &resolver, &["python-base", "--deny-out", "evil.example"]);
    assert_reached(&sandbox, "good.example", 80);
    assert_refused(&sandbox, "evil.example", 80, "dns evil.example by rule `deny evil.example`");
    assert_refused(
        &sandbox,
        "masked.example",
        80,
        "dns masked.example (by its alias evil.example) by rule `deny evil.example`",
    );
    // Whoever could ask another server could have any name.
    assert_refused(
        &sandbox,
        &one.to_string(),
        53,
        &format!("tcp {one}:53 (good.example) by the rule that names are asked for at 127.0.0.11"),
    );
}

#[test]
fn an_answer_too_large_for_a_datagram_opens_its_addresses_too() {
    let (Some(abx), Some(outside)) = (shared(), Outside::new()) else { return };
    let resolver = Resolver::new(&[("many.example", Known::Many(outside.address(0)))]);
    let sandbox = create(&abx, &resolver, &["python-base", "--allow-out", "many.example"]);
    let count = "import socket; print(len(socket.getaddrinfo('many.example', 80, socket.AF_INET, socket.SOCK_STREAM)))";
    assert_eq!(sandbox.exec(&["python3", "-c", count]).success(), "61\n");
    assert_reached(&sandbox, &outside.address(0).to_string(), 80);
}

#[test]
fn networks_are_denied_at_create_and_the_status_stays_the_commands() {
    let (Some(abx), Some(outside)) = (shared(), Outside::new()) else { return };
    let (allowed, denied) = (outside.address(0).to_string(), outside.address(1).to_string());
    let network = outside.network();
    let sandbox = abx.create(&["python-base", "--deny-out", &network, "--allow-out", &allowed]);
    assert_reached(&sandbox, &allowed, 80);
    let told = format!("tcp {denied}:80 by rule `deny {network}`");
    assert_refused(&sandbox, &denied, 80, &told);

    let ran = abx.run(&[
        "--json",
        "create",
        "--rm",
        "python-base",
        "--deny-out",
        &network,
        "--",
        "python3",
        "-c",
        FETCH,
        &denied,
        "80",
    ]);
    assert_eq!((ran.status, ran.json()["exit_status"].as_u64()), (Some(1), Some(1)), "{ran:#?}");
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).expect("one object");
    assert_eq!(
        (error["code"].as_str(), error["message"].as_str()),
        (Some("E3010"), Some(&*format!("egress denied {told}")))
    );
    // Who copes with it is told nothing.
    let script = format!("{FETCH}\n").replace("import socket, sys", "import socket, sys\ntry: socket.create_connection((sys.argv[1], 80), 20)\nexcept OSError: sys.exit(0)");
    let ran = sandbox.exec(&["python3", "-c", &script, &denied, "80"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
}

#[test]
fn what_no_policy_allows_stays_refused() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["python-base", "--allow-out", "*"]);
    assert_refused(&sandbox, "169.254.169.254", 80, "tcp 169.254.169.254:80 by what no policy allows");
    let other = abx.create(&["python-base", "--allow-out", "*"]);
    let address = other.sh("hostname -I").trim().to_owned();
    other.sh("nohup python3 -m http.server 8000 >/dev/null 2>&1 &");
    wait_until("the server", || {
        let ports: serde_json::Value = abx.run(&["ports", &other.id, "--json"]).json();
        ports.as_array().is_some_and(|ports| ports.iter().any(|port| port["port"] == 8000)).then_some(())
    });
    assert_refused(&sandbox, &address, 8000, &format!("tcp {address}:8000 by what no policy allows"));
}

#[test]
fn a_proxy_on_the_hosts_loopback_is_a_target_like_any_other() {
    let Some(abx) = shared() else { return };
    let proxy = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = proxy.local_addr().expect("address").port();
    std::thread::spawn(move || {
        for mut stream in proxy.incoming().flatten() {
            let _ = std::io::Write::write_all(&mut stream, b"hello from a proxy\n");
        }
    });
    let create = |words: &[&str]| {
        let mut command = abx.command(&[&["create", "python-base"], words].concat());
        let address = format!("http://127.0.0.1:{port}");
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
            command.env(name, &address);
        }
        abx.adopt(run(command).success().trim_end())
    };
    assert_reached(&create(&["--allow-out", &format!("localhost:{port}")]), "127.0.0.1", port);
    let sandbox = create(&["--allow-out", "other.example"]);
    assert_refused(&sandbox, "127.0.0.1", port, &format!("tcp 127.0.0.1:{port} by the default, `deny`"));
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_made() {
    let Some(abx) = shared() else { return };
    for (words, told) in [
        (&["--allow-out", "https://example.com"][..], "write the host alone"),
        (&["--deny-out", "10.1.2.3/8"], "did you mean `10.0.0.0/8`?"),
        (&["--deny-out", "*", "--network", "none"], "mean nothing without a network"),
    ] {
        let ran = abx.run(&[&["create", "base"], words].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:#?}");
        assert!(ran.stderr.contains(told), "{ran:#?}");
    }
    let template =
        abx.template("odd", "base:\n  from: base\nnetwork:\n  egress:\n    deny: [a.com, \"a b\"]\n");
    let stderr = abx.run(&["create", &template]).failure(2, "E2004");
    assert!(stderr.contains("odd/template.yaml:8:19"), "{stderr}");
}

const COMMANDS: &str = "from agent_sandbox import sandbox\nimport socket\n\n@sandbox.register\ndef fetch():\n\
    \x20   socket.create_connection(('10.9.8.7', 80), timeout=20)\n\n@sandbox.register\ndef stumble():\n    1 / 0\n";

#[test]
fn cells_and_named_commands_that_fail_behind_a_refusal_tell_it() {
    let Some(abx) = shared() else { return };
    let template = abx.template("fetcher", "base: {from: base}\n");
    abx.write("fetcher/commands.py", COMMANDS);
    let sandbox = abx.create(&[&template, "--deny-out", "10.0.0.0/8"]);
    let told = "error[E3010]: egress denied tcp 10.9.8.7:80 by rule `deny 10.0.0.0/8`\nhelp: ";

    let cell = "import socket; socket.create_connection(('10.9.8.7', 80), timeout=20)";
    let said = abx.run(&["code", &sandbox.id, cell]).failure(6, "E3010");
    assert!(said.contains(&format!("{told}the code raised ConnectionRefusedError: ")), "{said}");
    assert!(said.contains("Traceback") && said.contains("--allow-out 10.9.8.7:80"), "{said}");
    abx.run(&["code", &sandbox.id, "1 / 0"]).failure(1, "E3003");

    let said = abx.run(&["run", &sandbox.id, "fetch"]).failure(6, "E3010");
    assert!(said.contains(&format!("{told}`fetch` failed: ConnectionRefusedError: ")), "{said}");
    abx.run(&["run", &sandbox.id, "stumble"]).failure(1, "E3000");
}

#[test]
fn a_startup_command_that_fails_behind_a_refusal_tells_it() {
    let Some(abx) = shared() else { return };
    let template = abx.template(
        "starter",
        "base: {from: base}\nsandbox:\n  startup_command: exec curl -sS http://10.9.8.7/\n\
         \x20 readiness_probe: {type: tcp, port: 8000}\nnetwork: {egress: {deny: [10.0.0.0/8]}}\n",
    );
    let name = abx.name("starter");
    let said = abx.run(&["create", &template, "--name", &name]).failure(5, "E2010");
    let told = "egress denied tcp 10.9.8.7:80 by rule `deny 10.0.0.0/8`";
    assert!(said.contains(&format!("help: {told}")) && said.contains("--allow-out 10.9.8.7:80"), "{said}");
    assert!(abx.run(&["logs", &name]).success().contains(told), "the log keeps it");
}
