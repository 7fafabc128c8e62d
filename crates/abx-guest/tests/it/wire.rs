//! Bytes as other clients send them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use abx_client::ClientError;
use abx_core::Secret;
use serde_json::{Value, json};

use crate::common::{Answer, TestGuest, run};

const JSON_STREAM: (&str, &str) = ("Content-Type", "application/connect+json");

fn frame(message: &Value) -> Vec<u8> {
    let payload = message.to_string();
    [&[0][..], &(payload.len() as u32).to_be_bytes(), payload.as_bytes()].concat()
}

/// The frames of a streaming answer in JSON: flag and message.
fn frames(answer: &Answer) -> Vec<(u8, Value)> {
    let mut rest = &answer.body[..];
    let mut frames = Vec::new();
    while let [flag, a, b, c, d, tail @ ..] = rest {
        let (payload, tail) = tail.split_at(u32::from_be_bytes([*a, *b, *c, *d]) as usize);
        frames.push((*flag, serde_json::from_slice(payload).expect("json")));
        rest = tail;
    }
    frames
}

fn start(guest: &TestGuest, headers: &[(&str, &str)], request: &Value) -> Vec<(u8, Value)> {
    let headers = [&[JSON_STREAM], headers].concat();
    let answer = guest.http("POST", "/process.Process/Start", &headers, &frame(request));
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: application/connect+json"), "{}", answer.head);
    frames(&answer)
}

#[test]
fn a_process_in_json() {
    let guest = TestGuest::start();
    let request = json!({"process": {"cmd": "/bin/sh", "args": ["-c", "printf hi; exit 2"]}, "stdin": false});
    let frames = start(&guest, &[], &request);
    assert!(frames[0].1["event"]["start"]["pid"].is_u64(), "{frames:?}");
    assert_eq!(frames[1], (0, json!({"event": {"data": {"stdout": "aGk="}}})));
    let end = json!({"exitCode": 2, "exited": true, "status": "exit status 2", "error": "exit status 2"});
    assert_eq!(frames[2], (0, json!({"event": {"end": end}})));
    assert_eq!(frames[3], (2, json!({})));
    assert_eq!(frames.len(), 4);
}

#[test]
fn errors_of_streams_and_of_unary_calls() {
    let guest = TestGuest::start();
    let request = json!({"process": {"cmd": "true", "cwd": "/no/dir"}});
    let error = json!({"code": "invalid_argument", "message": "cwd '/no/dir' does not exist"});
    assert_eq!(start(&guest, &[], &request), [(2, json!({"error": error}))]);
    // base64("ghost:")
    let frames = start(&guest, &[("Authorization", "Basic Z2hvc3Q6")], &json!({"process": {"cmd": "true"}}));
    assert_eq!(frames[0].1["error"]["code"], "unauthenticated");
    let frames = start(&guest, &[], &json!({"process": {"cmd": "no-such-program"}}));
    assert_eq!(frames[0].1["error"]["code"], "invalid_argument");
    assert_eq!(frames[0].1["metadata"], json!({"abx-exit-status": ["127"]}));

    let signal = r#"{"process":{"pid":999999},"signal":"SIGNAL_SIGKILL"}"#;
    let (status, body) = guest.call("/process.Process/SendSignal", signal);
    assert_eq!((status, &body["code"]), (404, &json!("not_found")));
    assert_eq!(body["message"], "process with pid 999999 not found");
    let (status, body) = guest.call("/process.Process/List", "{");
    assert_eq!((status, &body["code"]), (400, &json!("invalid_argument")));
    let answer = guest.http("POST", "/process.Process/List", &[("Content-Type", "text/plain")], b"");
    assert_eq!(answer.status, 415);
    assert_eq!(guest.http("GET", "/nothing", &[], b"").status, 404);
    assert!(guest.raw(b"nonsense\r\n\r\n").starts_with(b"HTTP/1.1 400"));
}

#[test]
fn a_connection_serves_one_stream_after_the_other() {
    let guest = TestGuest::start();
    let mut stream = UnixStream::connect(guest.client.socket()).expect("connect");
    let body = frame(&json!({"process": {"cmd": "true"}}));
    for _ in 0..3 {
        let head = format!(
            "POST /process.Process/Start HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+json\r\n\
             Transfer-Encoding: chunked\r\n\r\n{:x}\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), &body, b"\r\n"].concat()).expect("write");
        // The end of the request comes late, as from clients that send each piece on its own.
        std::thread::sleep(std::time::Duration::from_millis(50));
        stream.write_all(b"0\r\n\r\n").expect("write");
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n0\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("the connection stays open");
            seen.push(byte[0]);
        }
        assert!(String::from_utf8_lossy(&seen).contains("exit status 0"));
    }
}

#[test]
fn a_deadline_kills_and_says_so() {
    let guest = TestGuest::start();
    let request = json!({"process": {"cmd": "sleep", "args": ["66"]}});
    let frames = start(&guest, &[("Connect-Timeout-Ms", "200")], &request);
    assert_eq!(frames.last().expect("an end").1["error"]["code"], "deadline_exceeded");
    for _ in 0..250 {
        if guest.call("/process.Process/List", "{}").1 == json!({"processes": []}) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("the process is left");
}

#[test]
fn an_idle_stream_is_kept_alive() {
    let guest = TestGuest::start();
    let request = json!({"process": {"cmd": "sleep", "args": ["1.3"]}});
    let frames = start(&guest, &[("Keepalive-Ping-Interval", "1")], &request);
    assert_eq!(frames[1], (0, json!({"event": {"keepalive": {}}})));
}

#[test]
fn input_by_single_calls_and_by_a_chunked_stream() {
    let guest = TestGuest::start();
    let mut stream = UnixStream::connect(guest.client.socket()).expect("connect");
    let body = frame(&json!({"process": {"cmd": "cat"}, "tag": "kitty"}));
    let head = format!(
        "POST /process.Process/Start HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/connect+json\r\n\
         Transfer-Encoding: chunked\r\n\r\n{:x}\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat()).expect("write");
    let mut seen = vec![0; 1];
    stream.read_exact(&mut seen).expect("it runs");

    let select = json!({"tag": "kitty"});
    let (status, body) = guest.call("/process.Process/List", "{}");
    assert_eq!((status, &body["processes"][0]["config"]["cmd"]), (200, &json!("cat")));
    assert_eq!(body["processes"][0]["tag"], "kitty");
    let input = json!({"process": select, "input": {"stdin": "b25l"}}).to_string();
    assert_eq!(guest.call("/process.Process/SendInput", &input), (200, json!({})));
    let streamed = [
        frame(&json!({"start": {"process": select}})),
        frame(&json!({"keepalive": {}})),
        frame(&json!({"data": {"input": {"stdin": "dHdv"}}})),
    ]
    .concat();
    let answer = guest.http("POST", "/process.Process/StreamInput", &[JSON_STREAM], &streamed);
    assert_eq!(frames(&answer), [(0, json!({})), (2, json!({}))]);
    let pty = json!({"process": select, "input": {"pty": "eA=="}}).to_string();
    assert_eq!(guest.call("/process.Process/SendInput", &pty).0, 500);
    let close = json!({"process": select}).to_string();
    assert_eq!(guest.call("/process.Process/CloseStdin", &close), (200, json!({})));
    stream.read_to_end(&mut seen).expect("it ends");
    let text = String::from_utf8_lossy(&seen);
    assert!(text.contains("b25l") && text.contains("dHdv"), "{text}");
}

#[test]
fn files_over_http() {
    let guest = TestGuest::start();
    let path = guest.path("h.txt");
    let target = format!("/files?path={path}");
    let octets = [("Content-Type", "application/octet-stream")];
    let answer = guest.http("POST", &target, &octets, b"0123456789");
    let written = json!([{"path": path, "name": "h.txt", "type": "file"}]);
    assert_eq!((answer.status, serde_json::from_slice::<Value>(&answer.body).expect("json")), (200, written));

    let answer = guest.http("GET", &target, &[], b"");
    assert_eq!((answer.status, &answer.body[..]), (200, &b"0123456789"[..]));
    assert!(answer.head.contains("content-length: 10") && answer.head.contains("filename=h.txt"));
    let answer = guest.http("GET", &target, &[("Range", "bytes=2-4")], b"");
    assert_eq!((answer.status, &answer.body[..]), (206, &b"234"[..]));
    assert!(answer.head.contains("content-range: bytes 2-4/10"), "{}", answer.head);
    assert_eq!(guest.http("GET", &target, &[("Range", "bytes=10-")], b"").status, 416);
    let answer = guest.http("GET", &target, &[("Accept-Encoding", "gzip")], b"");
    assert!(answer.head.contains("content-encoding: gzip"), "{}", answer.head);
    assert!(answer.body.starts_with(&[0x1f, 0x8b]));
    let compressed = answer.body;
    let gzip = [octets[0], ("Content-Encoding", "gzip")];
    let copy = guest.path("copy");
    assert_eq!(guest.http("POST", &format!("/files?path={copy}"), &gzip, &compressed).status, 200);
    assert_eq!(std::fs::read(&copy).expect("read"), b"0123456789");

    guest.http("POST", &format!("/files?path={copy}"), &octets, b"");
    let answer = guest.http("GET", &format!("/files?path={copy}"), &[], b"");
    assert!(answer.head.contains("content-length: 0"), "{}", answer.head);
    let answer = guest.http("GET", "/files?path=/no/file", &[], b"");
    let missing = json!({"code": 404, "message": "path '/no/file' does not exist"});
    assert_eq!((answer.status, serde_json::from_slice::<Value>(&answer.body).expect("json")), (404, missing));
    assert_eq!(guest.http("GET", "/files?path=/tmp", &[], b"").status, 400);
    let answer = guest.http("GET", "/files?path=/tmp&username=ghost", &[], b"");
    let unknown = json!({"code": 401, "message": "invalid username: 'ghost'"});
    assert_eq!((answer.status, serde_json::from_slice::<Value>(&answer.body).expect("json")), (401, unknown));
    assert_eq!(guest.http("POST", "/files", &octets, b"x").status, 400);
}

#[test]
fn a_multipart_upload_writes_each_part_once() {
    let guest = TestGuest::start();
    let (one, two) = (guest.path("one"), guest.path("two"));
    let part = |path: &str, content: &str| {
        format!(
            "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{path}\"\r\n\r\n{content}\r\n"
        )
    };
    let headers = [("Content-Type", "multipart/form-data; boundary=XX")];
    let body = format!("{}{}--XX--\r\n", part(&one, "first"), part(&two, "second"));
    assert_eq!(guest.http("POST", "/files", &headers, body.as_bytes()).status, 200);
    assert_eq!(std::fs::read_to_string(&one).expect("one"), "first");
    assert_eq!(std::fs::read_to_string(&two).expect("two"), "second");
    let body = format!("{}{}--XX--\r\n", part(&one, "third"), part(&one, "fourth"));
    assert_eq!(guest.http("POST", "/files", &headers, body.as_bytes()).status, 400);
    assert_eq!(std::fs::read_to_string(&one).expect("one"), "third");
    let joined = json!({"source_paths": [one, two], "destination": guest.path("joined")}).to_string();
    let json = [("Content-Type", "application/json")];
    assert_eq!(guest.http("POST", "/files/compose", &json, joined.as_bytes()).status, 200);
    assert_eq!(std::fs::read_to_string(guest.path("joined")).expect("joined"), "thirdsecond");
    assert!(!std::path::Path::new(&guest.path("one")).exists());
}

#[test]
fn an_upload_is_created_given_away_and_written_for_those_who_watch() {
    let guest = TestGuest::start();
    let watched = guest.path("work");
    let request = json!({"path": watched}).to_string();
    let (status, body) = guest.call("/filesystem.Filesystem/CreateWatcher", &request);
    assert_eq!(status, 200);
    let id = json!({"watcherId": body["watcherId"]}).to_string();
    let octets = [("Content-Type", "application/octet-stream")];
    guest.http("POST", &format!("/files?path={watched}/new"), &octets, b"content");
    let (_, body) = guest.call("/filesystem.Filesystem/GetWatcherEvents", &id);
    let event = |kind: &str| json!({"name": "new", "type": format!("EVENT_TYPE_{kind}")});
    assert_eq!(body["events"], json!([event("CREATE"), event("CHMOD"), event("WRITE")]));
    std::fs::rename(format!("{watched}/new"), format!("{watched}/other")).expect("rename");
    std::fs::remove_file(format!("{watched}/other")).expect("remove");
    let (_, body) = guest.call("/filesystem.Filesystem/GetWatcherEvents", &id);
    let other = |kind: &str| json!({"name": "other", "type": format!("EVENT_TYPE_{kind}")});
    assert_eq!(body["events"], json!([event("RENAME"), other("CREATE"), other("REMOVE")]));
    assert_eq!(guest.call("/filesystem.Filesystem/RemoveWatcher", &id), (200, json!({})));
    assert_eq!(guest.call("/filesystem.Filesystem/GetWatcherEvents", &id).0, 404);

    let (status, body) = guest.call("/filesystem.Filesystem/CreateWatcher", r#"{"path":"/etc/passwd"}"#);
    assert_eq!((status, &body["code"]), (400, &json!("invalid_argument")));
    assert_eq!(guest.call("/filesystem.Filesystem/CreateWatcher", r#"{"path":"/no/dir"}"#).0, 404);
}

#[test]
fn a_recursive_watch_sees_new_directories_and_their_entries() {
    let guest = TestGuest::start();
    let watched = guest.path("work");
    let request = json!({"path": watched, "recursive": true, "includeEntry": true}).to_string();
    let (_, body) = guest.call("/filesystem.Filesystem/CreateWatcher", &request);
    let id = json!({"watcherId": body["watcherId"]}).to_string();
    std::fs::create_dir(format!("{watched}/sub")).expect("mkdir");
    let (_, body) = guest.call("/filesystem.Filesystem/GetWatcherEvents", &id);
    assert_eq!(body["events"][0]["entry"]["type"], "FILE_TYPE_DIRECTORY", "{body}");
    std::fs::write(format!("{watched}/sub/file"), "x").expect("write");
    let (_, body) = guest.call("/filesystem.Filesystem/GetWatcherEvents", &id);
    assert_eq!(body["events"][0]["name"], "sub/file", "{body}");
    assert_eq!(body["events"][0]["entry"]["size"], "1");
}

#[test]
fn entries_in_json_are_as_published() {
    let guest = TestGuest::start();
    std::fs::write(guest.path("f"), "four").expect("write");
    let (status, body) =
        guest.call("/filesystem.Filesystem/Stat", &json!({"path": guest.path("f")}).to_string());
    assert_eq!(status, 200);
    let entry = &body["entry"];
    assert_eq!(entry["type"], "FILE_TYPE_FILE");
    assert_eq!(entry["size"], "4");
    assert_eq!(entry["mode"], 0o644);
    assert_eq!(entry["permissions"], "-rw-r--r--");
    assert!(entry["modifiedTime"].as_str().is_some_and(|time| time.ends_with('Z')), "{entry}");
    assert!(entry.get("symlinkTarget").is_none() && entry.get("metadata").is_none(), "{entry}");
}

#[test]
fn small_routes_answer() {
    let guest = TestGuest::start();
    assert_eq!(guest.http("GET", "/health", &[], b"").status, 204);
    let answer = guest.http("GET", "/envs", &[], b"");
    assert_eq!(serde_json::from_slice::<Value>(&answer.body).expect("json"), json!({"FROM_TEMPLATE": "yes"}));
    let init = br#"{"envVars":{"LATER":"1"},"defaultUser":"root"}"#;
    assert_eq!(guest.http("POST", "/init", &[("Content-Type", "application/json")], init).status, 204);
    let answer = guest.http("GET", "/envs", &[], b"");
    let envs: Value = serde_json::from_slice(&answer.body).expect("json");
    assert_eq!(envs, json!({"FROM_TEMPLATE": "yes", "LATER": "1"}));
    let metrics: Value = serde_json::from_slice(&guest.http("GET", "/metrics", &[], b"").body).expect("json");
    for name in ["ts", "cpu_count", "cpu_used_pct", "mem_total", "mem_used", "disk_used", "disk_total"] {
        assert!(metrics[name].is_number(), "{name} in {metrics}");
    }
    let answer = guest.http("OPTIONS", "/files", &[], b"");
    assert_eq!(answer.status, 204);
    assert!(answer.head.contains("access-control-allow-origin: *"));
}

#[test]
fn a_token_is_asked_for_where_there_is_one() {
    let guest = TestGuest::with(|config| config.access_token = Some("s3cret".into()));
    let (status, _) = guest.call("/process.Process/List", "{}");
    assert_eq!(status, 401);
    assert_eq!(guest.http("GET", "/health", &[], b"").status, 204);
    run(async {
        let error = guest.client.info().await.expect_err("no token");
        assert!(matches!(error, ClientError::Refused { status: 401, .. }), "{error:?}");
        let client = guest.client.clone().with_token(Secret::new("s3cret"));
        client.info().await.expect("with the token");
    });
}
