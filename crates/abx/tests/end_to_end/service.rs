//! The service of port 9000 inside: what each endpoint answers, and to whom.

use serde_json::Value;

use super::shared;
use abx_test::{LiveSandbox, TestContext, wait_until};

const JOIN: &str = include_str!("commands/join.py");

/// A sandbox of `base` whose service has been started; extra lines for its template.
fn served<'a>(abx: &'a TestContext, name: &str, rest: &str) -> LiveSandbox<'a> {
    let template = abx.template(name, &format!("base: {{from: base}}\n{rest}"));
    abx.write(&format!("{name}/files/join.py"), JOIN);
    let sandbox = abx.create(&[&template, "--network", "none"]);
    // Whether it may be asked or not, it runs then.
    abx.run(&["commands", &sandbox.id]);
    sandbox
}

/// `METHOD PATH BODY` → status and text, with these headers.
fn ask(sandbox: &LiveSandbox<'_>, request: &str, headers: &[&str]) -> (u16, String) {
    let mut parts = request.splitn(3, ' ');
    let (method, path) = (parts.next().expect("a method"), parts.next().expect("a path"));
    let url = format!("http://127.0.0.1:9000{path}");
    let mut words = vec!["curl", "-sS", "-m", "60", "-w", "\n%{http_code}", "-X", method, &url];
    if let Some(body) = parts.next() {
        words.extend(["--data-binary", body]);
    }
    words.extend(headers.iter().flat_map(|header| ["-H", header]));
    let answer = sandbox.exec(&words).success();
    let (body, status) = answer.rsplit_once('\n').expect("a status");
    (status.parse().expect("a number"), body.to_owned())
}

/// Each row is asked in order; the answer has that status and all the words.
fn check(sandbox: &LiveSandbox<'_>, rows: &[(&str, u16, &[&str])]) {
    for (request, status, words) in rows {
        let (seen, body) = ask(sandbox, request, &[]);
        assert_eq!(seen, *status, "{request}: {body}");
        for word in *words {
            assert!(body.contains(word), "{request}: no {word} in {body}");
        }
    }
}

#[test]
fn every_group_answers_in_its_shape() {
    let Some(abx) = shared() else { return };
    let sandbox = served(&abx, "groups", "");
    check(
        &sandbox,
        &[
            ("GET /health", 200, &[r#"{"status": "ok"}"#]),
            (
                "GET /capabilities",
                200,
                &[
                    r#""api_version": 2"#,
                    r#""dev_tools": false"#,
                    r#""process": true"#,
                    r#""id": "anonymous""#,
                ],
            ),
            (r#"POST /capabilities/check {"endpoint": "shell"}"#, 200, &[r#""allowed": true, "code": null"#]),
            (
                r#"POST /capabilities/check {"endpoint": "files_stat", "path": "/etc/passwd"}"#,
                200,
                &[r#""code": "path_not_allowed""#],
            ),
            (
                r#"POST /capabilities/check {"endpoint": "code_run"}"#,
                200,
                &[r#""code": "endpoint_disabled""#],
            ),
            ("GET /commands", 200, &[r#"{"commands": []}"#]),
            (
                "POST /commands/x {}",
                404,
                &[r#""error": "Unknown command 'x'; available: (none)", "type": "ValueError""#],
            ),
            // Processes.
            (
                r#"POST /shell {"command": "echo 'a  b' $HOME"}"#,
                200,
                &[r#"{"stdout": "a  b $HOME\n", "stderr": "", "exit_code": 0}"#],
            ),
            (
                r#"POST /shell {"command": "sh -c 'echo $A; pwd; exit 3'", "cwd": "/tmp", "env": {"A": "1"}}"#,
                200,
                &[r#""stdout": "1\n/tmp\n""#, r#""exit_code": 3"#],
            ),
            (r#"POST /shell {"command": "sleep 60", "timeout": 0.3}"#, 500, &["timed out", "TimeoutError"]),
            (r#"POST /shell {"command": "no-such-program"}"#, 500, &["FileNotFoundError"]),
            (r#"POST /shell {"command": "'"}"#, 400, &["ValueError"]),
            ("POST /shell {}", 400, &["Missing or invalid 'command'"]),
            (
                r#"POST /shell/stream {"command": "sh -c 'echo out; exit 4'"}"#,
                200,
                &["event: stdout\ndata: {\"data\": \"out\"}\n\n", "event: exit\ndata: {\"exit_code\": 4}\n"],
            ),
            ("GET /process/list", 200, &[r#"{"processes": []}"#]),
            ("GET /process/77777", 404, &["NotFoundError"]),
            ("GET /process/x", 400, &["Invalid pid"]),
            // Files.
            (r#"POST /files/mkdir {"path": "/app/d/e"}"#, 200, &[r#"{"path": "/app/d/e", "created": true}"#]),
            (
                r#"POST /files/upload-stream {"path": "d/f.txt", "content_base64": "aGk="}"#,
                200,
                &[r#"{"path": "/app/d/f.txt", "bytes": 2}"#],
            ),
            (
                r#"POST /files/upload-stream {"path": "d/f.txt", "content_base64": "!"}"#,
                400,
                &["content_base64"],
            ),
            (
                "GET /files/download-stream?path=/app/d/f.txt",
                200,
                &[r#""content_base64": "aGk=", "bytes": 2"#],
            ),
            ("GET /files/download-stream?path=/app/d", 404, &["FileNotFoundError"]),
            (
                "GET /files/list?path=/app/d",
                200,
                &[r#""name": "e""#, r#""type": "directory""#, r#""name": "f.txt""#],
            ),
            ("GET /files/list?path=/app&recursive=true", 200, &[r#""path": "/app/d/f.txt""#]),
            ("GET /files/list?path=/app/none", 404, &["FileNotFoundError"]),
            (
                "GET /files/stat?path=d/f.txt",
                200,
                &[r#""size": 2"#, r#""permissions": "644""#, r#""exists": true"#],
            ),
            ("GET /files/stat?path=d/none", 200, &[r#""exists": false"#]),
            ("GET /files/stat?path=/etc/passwd", 403, &[r#""code": "path_not_allowed""#]),
            ("GET /files/stat?path=/app/../proc/1/environ", 403, &["path_"]),
            ("GET /files/stat", 400, &["Missing or invalid 'path'"]),
            (
                r#"POST /files/search {"path": "/app", "pattern": "*.txt"}"#,
                200,
                &[r#"{"results": [{"name": "f.txt", "path": "/app/d/f.txt"}], "timed_out": false}"#],
            ),
            (
                r#"POST /files/archive {"paths": ["/app/d"], "format": "zip"}"#,
                200,
                &[r#""format": "zip""#, r#""content_base64": "UEsD"#],
            ),
            (r#"POST /files/archive {"paths": ["/app/d"], "format": "rar"}"#, 400, &["Unsupported format"]),
            (
                r#"POST /files/move {"source": "d/f.txt", "destination": "g/h.txt"}"#,
                200,
                &[r#""destination": "/app/g/h.txt""#],
            ),
            ("DELETE /files?path=/app/g", 200, &[r#""deleted": true"#]),
            ("DELETE /files?path=/app/g", 404, &["Path not found"]),
            (
                "GET /files/watch?path=/app/d&timeout=0.2",
                200,
                &["event: ready", "event: end\ndata: {\"reason\": \"timeout\"}"],
            ),
            // The system.
            ("GET /system/info", 200, &[r#""os": "Linux""#, r#""cpu_count""#]),
            ("GET /system/metrics", 200, &[r#""memory_percent""#]),
            (r#"POST /env {"vars": {"COLOR": "red"}}"#, 200, &[r#"{"updated": ["COLOR"]}"#]),
            ("GET /env?filter=COLOR,HOME", 200, &[r#""COLOR": "red""#, r#""HOME": "/home/user""#]),
            (r#"POST /env {"vars": {"PATH": "/x"}}"#, 403, &["protected"]),
            (r#"POST /shell {"command": "printenv COLOR"}"#, 200, &["red"]),
            ("GET /ports", 200, &[r#""port": 9000"#]),
            ("GET /packages?manager=cargo", 400, &["Unsupported package manager"]),
            // What is off, and what is nowhere.
            (
                r#"POST /code/run {"code": "1"}"#,
                404,
                &[r#""code": "endpoint_disabled""#, "ABX_SERVER_ENABLED_GROUPS=dev_tools"],
            ),
            ("GET /nowhere", 404, &["ValueError"]),
            ("PUT /health", 404, &["ValueError"]),
            ("GET /env?filter=a&filter=b", 400, &[r#""code": "duplicate_parameter""#]),
            ("POST /shell {", 400, &["not JSON"]),
            ("POST /shell []", 400, &["not a JSON object"]),
        ],
    );
    let (status, body) = ask(&sandbox, "POST /shell {}", &["Transfer-Encoding: chunked"]);
    assert!(status == 400 && body.contains("unsupported_encoding"), "{body}");
    let (status, body) = ask(&sandbox, "POST /shell {}", &["Content-Length: 99999999"]);
    assert!(status == 413 && body.contains("payload_too_large"), "{body}");
}

#[test]
fn a_program_in_the_background_is_fed_and_heard() {
    let Some(abx) = shared() else { return };
    let sandbox = served(&abx, "background", "");
    let json = |request: &str| {
        let (status, body) = ask(&sandbox, request, &[]);
        assert_eq!(status, 200, "{request}: {body}");
        serde_json::from_str::<Value>(&body).expect(request)
    };
    let start = r#"POST /process/start {"command": "sh -c 'read x; echo got $x; exit 5'", "capture_output": true, "stdin": true}"#;
    let pid = json(start)["pid"].as_u64().expect("a number");
    assert_eq!(json("GET /process/list")["processes"][0]["state"], "running");
    assert_eq!(json(&format!("GET /process/{pid}"))["exit_code"], Value::Null);
    let fed = json(&format!(r#"POST /process/{pid}/stdin {{"data": "it\n", "eof": true}}"#));
    assert_eq!(fed["written"], 3);
    let output = json(&format!("GET /process/{pid}/output?since=0&wait=30"));
    assert_eq!(output["events"][0]["data"], "got it\n");
    wait_until("its end", || (json(&format!("GET /process/{pid}/output"))["exit_code"] == 5).then_some(()));
    let pid = json(r#"POST /process/start {"command": "sleep 600"}"#)["pid"].as_u64().expect("a number");
    check(
        &sandbox,
        &[
            (&format!(r#"POST /process/{pid}/signal {{"signal": 1}}"#), 400, &["one of 2, 9, 15, 18, 20"]),
            (&format!("GET /process/{pid}/output"), 409, &["ConflictError"]),
            (&format!(r#"POST /process/{pid}/signal {{"signal": 15}}"#), 200, &[r#""signal": 15"#]),
        ],
    );
    wait_until("its end", || (json(&format!("GET /process/{pid}"))["exit_code"] == -15).then_some(()));
}

#[test]
fn a_terminal_is_joined_typed_into_and_left() {
    let Some(abx) = shared() else { return };
    let sandbox = served(&abx, "terminals", "");
    let (status, body) =
        ask(&sandbox, r#"POST /pty/sessions {"cols": 100, "rows": 30, "env": {"WORD": "w"}}"#, &[]);
    assert_eq!(status, 200, "{body}");
    let created: Value = serde_json::from_str(&body).expect("JSON");
    let id = created["session_id"].as_str().expect("an id");
    assert_eq!(created["ws_url"], format!("ws://localhost:9001/pty?session_id={id}"));
    check(
        &sandbox,
        &[
            ("GET /pty/sessions", 200, &[r#""id": ""#, id, r#""cols": 100"#]),
            (
                &format!(r#"POST /pty/sessions/{id}/resize {{"cols": 120, "rows": 40}}"#),
                200,
                &[r#""cols": 120"#],
            ),
            (
                &format!(r#"POST /pty/sessions/{id}/resize {{"cols": 0, "rows": 40}}"#),
                400,
                &["from 1 to 1000"],
            ),
            (r#"POST /pty/sessions {"shell": "/bin/cat"}"#, 400, &["not allowed"]),
            ("GET /pty/sessions/none", 404, &["Session not found"]),
        ],
    );
    let typed = r#"{"type": "resize", "cols": 90, "rows": 20}
{"type": "input", "data": "echo $WORD $((6 * 7)); stty size; exit\r"}"#;
    let heard = sandbox.sh(&format!("printf '%s\n' '{typed}' | python3 join.py {id}"));
    let expect = ["event started\n", "event exited\n", "w 42", "20 90"];
    assert!(expect.iter().all(|word| heard.contains(word)), "{heard}");
    check(&sandbox, &[("GET /pty/sessions", 200, &[r#"{"sessions": []}"#])]);
    assert_eq!(sandbox.sh("python3 join.py none </dev/null"), "close 1008\n\n");
}

#[test]
fn a_token_is_asked_for_where_the_template_has_one() {
    let Some(abx) = shared() else { return };
    let sandbox = served(&abx, "guarded", "build:\n  env: {ABX_SERVER_TOKEN: word of the day}\n");
    check(
        &sandbox,
        &[
            ("GET /health", 200, &["ok"]),
            (
                "GET /commands",
                401,
                &[r#"{"error": "unauthorized", "type": "AuthError", "code": "unauthorized""#],
            ),
            ("GET /capabilities", 401, &["unauthorized"]),
        ],
    );
    let bearer = "Authorization: Bearer word of the day";
    let own = "X-Access-Token: word of the day";
    for (headers, status, word) in [
        (&[bearer][..], 200, r#""commands""#),
        (&[own], 200, r#""commands""#),
        (&[bearer, own], 200, r#""commands""#),
        (&["Authorization: Bearer other"], 401, "unauthorized"),
        (&["Authorization: Bearer other", own], 400, "ambiguous_credentials"),
    ] {
        let (seen, body) = ask(&sandbox, "GET /commands", headers);
        assert!(seen == status && body.contains(word), "{headers:?}: {seen} {body}");
    }
    let (_, env) = ask(&sandbox, "GET /env", &[own]);
    let (_, printed) = ask(&sandbox, r#"POST /shell {"command": "printenv"}"#, &[own]);
    assert!(!env.contains("word of the day") && !printed.contains("word of the day"), "{env} {printed}");
    // `abx` shows the token itself.
    assert_eq!(abx.run(&["commands", &sandbox.id, "--json"]).json(), serde_json::json!([]));
}

#[test]
fn a_policy_says_what_there_is_and_for_whom() {
    let Some(abx) = shared() else { return };
    let policy = r#"{"preset": "hardened", "groups": {"dev_tools": true},
        "auth": {"tokens": [{"id": "all", "scopes": ["*"], "token_env": "ALL"}, {"id": "reader", "scopes": ["files:read"], "token_env": "READER"}]},
        "endpoints": {"files_*": {"paths": {"allow": ["/app"], "read_only": true}}, "ports": {"limits": {"rate_per_minute": 1}}}}"#;
    let policy = policy.split_whitespace().collect::<Vec<_>>().join(" ");
    let env = format!("build:\n  env: {{ABX_SERVER_POLICY: '{policy}', ALL: all, READER: reader}}\n");
    let sandbox = served(&abx, "policy", &env);
    sandbox.sh("mkdir -p /app/.ssh; touch /app/.ssh/key /app/x; ln -sf /etc/passwd /app/link");
    for (who, request, status, word) in [
        ("all", "GET /files/stat?path=/app/x", 200, r#""exists": true"#),
        ("all", "GET /files/stat?path=x", 200, r#""path": "/app/x""#),
        ("all", "GET /files/stat?path=/app/link", 403, "path_not_allowed"),
        ("all", "GET /files/stat?path=/app/.ssh/key", 403, "path_denied"),
        ("all", "GET /files/stat?path=/tmp", 403, "path_not_allowed"),
        ("all", r#"POST /files/mkdir {"path": "/app/y"}"#, 403, r#""code": "read_only""#),
        ("all", r#"POST /shell {"command": "true"}"#, 404, r#""rule": "preset:hardened:groups.process""#),
        ("all", r#"POST /code/run {"code": "print(6*7)"}"#, 200, r#""stdout": "42\n""#),
        ("all", "GET /ports", 200, "listening"),
        ("all", "GET /ports", 429, r#""code": "rate_limited""#),
        ("reader", "GET /files/stat?path=x", 200, r#""exists": true"#),
        ("reader", "DELETE /files?path=x", 403, r#""scope": "files:delete""#),
        ("reader", "GET /system/info", 403, r#""code": "missing_scope""#),
        ("reader", "GET /capabilities", 200, r#""preset": "hardened""#),
    ] {
        let (seen, body) = ask(&sandbox, request, &[&format!("X-Access-Token: {who}")]);
        assert!(seen == status && body.contains(word), "{who}: {request}: {seen} {body}");
    }
}

#[test]
fn a_policy_that_is_wrong_is_told_and_nothing_is_served() {
    let Some(abx) = shared() else { return };
    for (name, policy, expect) in [
        ("typo", r#"{"endpoint": {}}"#, "policy.endpoint: unknown key, did you mean 'endpoints'?"),
        (
            "unknown",
            r#"{"endpoints": {"shel": {}}}"#,
            "policy.endpoints.shel: unknown endpoint, did you mean 'shell'?",
        ),
        (
            "unset",
            r#"{"auth": {"tokens": [{"id": "a", "scopes": ["*"], "token_env": "NO"}]}}"#,
            "the variable NO is not set",
        ),
    ] {
        let sandbox = served(&abx, name, &format!("build:\n  env: {{ABX_SERVER_POLICY: '{policy}'}}\n"));
        let told = abx.run(&["commands", &sandbox.id]).failure(1, "E3000");
        assert!(told.contains(expect), "{told}");
    }
}
