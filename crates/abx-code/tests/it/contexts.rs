//! Contexts: made, listed, chosen, restarted, removed.

use serde_json::{Value, json};

use crate::common::Server;

fn list(server: &Server) -> Vec<Value> {
    let (status, text) = server.call("GET", "/contexts", "");
    assert_eq!(status, 200);
    serde_json::from_str(&text).expect("a list")
}

fn make(server: &Server, wanted: Value) -> Value {
    let (status, text) = server.call("POST", "/contexts", &wanted.to_string());
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).expect("a context")
}

#[test]
fn each_keeps_its_own_names_and_directory() {
    let server = Server::start();
    let there = server.home().join("there");
    std::fs::create_dir(&there).expect("mkdir");
    let context = make(&server, json!({"cwd": "there"}));
    assert_eq!((&context["language"], &context["cwd"]), (&json!("python"), &json!(there)));
    let own = json!({"context_id": context["id"]});
    server.run("x = 1", own.clone());
    assert_eq!(server.run("import os; os.getcwd()", own.clone()).value(), there.to_str().expect("utf-8"));
    assert_eq!(server.run("x", json!({})).error(), "NameError: name 'x' is not defined");
    assert_eq!(server.run("x", own).value(), "1");
    let listed = list(&server);
    assert_eq!(listed.last().expect("some")["id"], context["id"], "in the order they were made");
    assert_eq!((&listed[0]["language"], &listed[0]["cwd"]), (&json!("python"), &json!(server.home())));
    assert_eq!(listed[0]["state"], "idle");
}

#[test]
fn a_directory_has_one_default_context() {
    let server = Server::start();
    server.run("x = 1", json!({"cwd": "/"}));
    assert_eq!(server.run("x", json!({"cwd": "/", "language": "Python"})).value(), "1");
    assert_ne!(server.run("x", json!({})).error(), "");
    assert_eq!(list(&server).len(), 2);
}

#[test]
fn restarting_forgets_and_removing_removes() {
    let server = Server::start();
    let id = make(&server, json!({}))["id"].as_str().expect("id").to_owned();
    let own = json!({"context_id": id});
    server.run("x = 1", own.clone());
    assert_eq!(server.call("POST", &format!("/contexts/{id}/restart"), "{}").0, 200);
    assert_eq!(server.run("x", own.clone()).error(), "NameError: name 'x' is not defined");
    assert_eq!(server.run("x", own).of("number_of_executions")[0]["execution_count"], 2);
    assert_eq!(server.call("DELETE", &format!("/contexts/{id}"), "").0, 204);
    for (method, path) in [("DELETE", String::new()), ("POST", "/restart".to_owned())] {
        let (status, text) = server.call(method, &format!("/contexts/{id}{path}"), "{}");
        assert_eq!((status, text), (404, format!("Context {id} not found")));
    }
    assert_eq!(list(&server).len(), 1);
}

#[test]
fn a_busy_one_is_restarted_at_once() {
    let server = Server::start();
    let mut answer = server.begin("print('begun', flush=True)\nwhile True: pass", json!({}));
    answer.until_stdout("begun");
    let id = list(&server)[0]["id"].as_str().expect("id").to_owned();
    assert_eq!(list(&server)[0]["state"], "busy");
    assert_eq!(server.call("POST", &format!("/contexts/{id}/restart"), "{}").0, 200);
    let last: Vec<Value> = std::iter::from_fn(|| answer.event()).collect();
    assert_eq!(last.iter().find(|event| event["type"] == "error").expect("told")["name"], "ContextRestarted");
    assert_eq!(server.run("1", json!({})).value(), "1");
}

#[test]
fn wrong_requests_are_refused_in_words() {
    let server = Server::start();
    let rows = [
        ("/execute", json!({"code": "1", "context_id": "no"}), 404, "Context no not found"),
        (
            "/execute",
            json!({"code": "1", "context_id": "a", "language": "python"}),
            400,
            "Only one of context_id or language can be provided",
        ),
        (
            "/execute",
            json!({"code": "1", "language": "cobol"}),
            400,
            "no kernel for the language `cobol`; there are python",
        ),
        ("/contexts", json!({"cwd": "/no/such"}), 400, "the directory /no/such does not exist"),
        ("/nowhere", json!({}), 404, "no such route: /nowhere"),
    ];
    for (path, body, status, message) in rows {
        assert_eq!(server.call("POST", path, &body.to_string()), (status, message.to_owned()));
    }
    let (status, message) = server.call("POST", "/execute", "{");
    assert_eq!(status, 400);
    assert!(message.starts_with("the request makes no sense"), "{message}");
    assert_eq!(server.call("GET", "/health", ""), (200, "OK".to_owned()));
}
