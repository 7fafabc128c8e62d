//! One Jupyter kernel: its process, and what it says put into our words.

use std::collections::VecDeque;
use std::process::Stdio;
use std::time::Duration;

use abx_protocol::code::CodeError;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};

use super::connection::{Connection, Sockets, borrowed};
use super::message::Incoming;
use super::process::Process;
use super::spec::KernelSpec;
use super::tail::Tail;
use super::zmtp::Message;
use super::{HELPER, Happening, KernelError, START_TIMEOUT, Surroundings};

/// How long after the answer to a request its output is awaited, should the kernel not say that it is idle.
const LATE_OUTPUT: Duration = Duration::from_secs(5);

/// When a cell is handed over again to a kernel that has not run it: some take none for a moment after an error.
const AGAIN: Duration = Duration::from_millis(100);
/// And how often.
const TRIES: u32 = 20;

/// A kernel that takes cells.
#[derive(Debug)]
pub(crate) struct Jupyter {
    pub(super) process: Process,
    sockets: Sockets,
    interrupted_by_message: bool,
    request: Request,
    /// Its file is there as long as the kernel, for others that want to connect.
    _connection: Connection,
}

/// Where the request under way is.
#[derive(Debug, Default)]
struct Request {
    id: String,
    code: String,
    hidden: bool,
    tries: u32,
    /// The kernel did not run it, and is asked again then.
    again: Option<Instant>,
    counted: bool,
    raised: bool,
    idle: bool,
    answered: Option<Instant>,
    /// To be told next.
    queue: VecDeque<Happening>,
    /// Its connection broke: it is not coming back.
    broken: bool,
}

impl Jupyter {
    pub(super) async fn start(
        spec: &KernelSpec,
        surroundings: Surroundings<'_>,
    ) -> Result<Self, KernelError> {
        let name = || spec.name.clone();
        let failed = |source| KernelError::Spawn { name: name(), source };
        let mut env = surroundings.env.clone();
        if spec.language == "python" && env.get("MPLBACKEND").is_some_and(|it| it.eq_ignore_ascii_case("agg"))
        {
            // The kernel then takes its own backend, which shows pictures.
            env.remove("MPLBACKEND");
        }
        env.extend(spec.env.clone());
        let connection = Connection::new(&spec.name, &env).map_err(failed)?;
        let file = connection.file().to_string_lossy().into_owned();
        let argv: Vec<String> =
            spec.argv.iter().map(|word| word.replace("{connection_file}", &file)).collect();
        let mut process =
            Process::start(&argv, &env, surroundings.directory, Stdio::null()).map_err(failed)?;
        let tail = Tail::follow(&mut process).map_err(failed)?;
        let connected = tokio::select! {
            connected = timeout(START_TIMEOUT, connection.connect()) => connected,
            end = process.end() => return Err(KernelError::Ended { name: name(), end, output: tail.text() }),
        };
        let sockets = connected
            .map_err(|_| KernelError::Timeout { name: name(), output: tail.text() })?
            .map_err(failed)?;
        let mut kernel = Self {
            process,
            sockets,
            interrupted_by_message: spec.interrupted_by_message,
            request: Request::default(),
            _connection: connection,
        };
        if spec.language == "python" {
            kernel.prepare_python().await;
        }
        Ok(kernel)
    }

    /// Gives it the helper. Without it, it runs cells all the same.
    async fn prepare_python(&mut self) {
        let helper = Value::from(HELPER);
        let code = format!("exec(compile({helper}, '<abx helper>', 'exec'), {{'__name__': '_abx'}})");
        self.submit(&code, true).await;
        let prepared = async { while !matches!(self.next().await, Happening::Done | Happening::Ended(_)) {} };
        let _ = timeout(START_TIMEOUT, prepared).await;
    }

    pub(super) async fn submit(&mut self, code: &str, hidden: bool) {
        self.request = Request { code: code.to_owned(), hidden, ..Request::default() };
        self.send().await;
    }

    /// Sends the request under way, as a new one.
    async fn send(&mut self) {
        let Request { code, hidden, tries, .. } = std::mem::take(&mut self.request);
        let content = json!({
            "code": &code, "silent": hidden, "store_history": !hidden, "user_expressions": {},
            "allow_stdin": false, "stop_on_error": false,
        });
        let (id, frames) = self.sockets.session.request("execute_request", &content);
        self.request = Request { id, code, hidden, tries: tries + 1, ..Request::default() };
        self.request.broken = self.sockets.shell.send(&borrowed(&frames)).await.is_err();
    }

    pub(super) async fn interrupt(&mut self) {
        if !self.interrupted_by_message {
            return self.process.interrupt();
        }
        let (_, frames) = self.sockets.session.request("interrupt_request", &json!({}));
        // Where it is gone that shows by itself.
        let _ = self.sockets.control.send(&borrowed(&frames)).await;
    }

    pub(super) async fn next(&mut self) -> Happening {
        loop {
            if let Some(happening) = self.request.queue.pop_front() {
                return happening;
            }
            if self.request.broken {
                return Happening::Ended(self.process.end().await);
            }
            if self.request.again.is_some_and(|again| again <= Instant::now()) {
                self.send().await;
            }
            if self.request.idle && self.request.answered.is_some() && self.request.again.is_none() {
                return Happening::Done;
            }
            let Sockets { session, shell, control, published } = &mut self.sockets;
            let again = self.request.again;
            let late =
                self.request.answered.filter(|_| again.is_none()).map(|answered| answered + LATE_OUTPUT);
            let message = tokio::select! {
                biased;
                message = published.receive() => message,
                message = shell.receive() => message,
                // Answers that nobody waits for.
                _ = control.receive() => continue,
                () = until(late) => return Happening::Done,
                () = until(again) => continue,
                end = self.process.end() => return Happening::Ended(end),
            };
            match message {
                Ok(Message::Frames(frames)) => {
                    if let Some(incoming) = session.read(&frames) {
                        self.request.take(incoming);
                    }
                }
                Ok(Message::TooLarge) => self.request.queue.push_back(Happening::Stderr(
                    "abx: a result of more than 64 MiB was left out\n".to_owned(),
                )),
                Err(_) => self.request.broken = true,
            }
        }
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

impl Request {
    /// Notes what a message says of this request. What belongs to another one is passed over.
    fn take(&mut self, incoming: Incoming) {
        let Incoming { kind, parent, mut content } = incoming;
        if parent != self.id {
            return;
        }
        match kind.as_str() {
            "stream" => {
                let text = text(&content, "text");
                let is_stderr = content["name"] == "stderr";
                self.queue.push_back(if is_stderr {
                    Happening::Stderr(text)
                } else {
                    Happening::Stdout(text)
                });
            }
            "execute_input" => self.count(&content),
            "execute_result" => self.show(true, content["data"].take()),
            "display_data" | "update_display_data" => self.show(false, content["data"].take()),
            "error" => self.raise(&content),
            "status" => self.idle |= content["execution_state"] == "idle",
            "execute_reply" => {
                self.answered = Some(Instant::now());
                if content["status"].as_str().is_some_and(|it| it.starts_with("abort")) && self.tries < TRIES
                {
                    self.again = Some(Instant::now() + AGAIN);
                    return;
                }
                if content["status"] != "ok" && !self.raised {
                    self.raise(&content);
                }
                self.count(&content);
                self.show_pages(content["payload"].take());
            }
            _ => {}
        }
    }

    fn count(&mut self, content: &Value) {
        if let Some(count) = content["execution_count"].as_u64().filter(|_| !self.counted) {
            self.counted = true;
            self.queue.push_back(Happening::Count(count));
        }
    }

    fn show(&mut self, main: bool, forms: Value) {
        if let Value::Object(forms) = forms {
            self.queue.push_back(Happening::Shown { main, forms });
        }
    }

    /// Help texts, `?name` say, come as pages.
    fn show_pages(&mut self, payload: Value) {
        let Value::Array(pages) = payload else { return };
        for mut page in pages.into_iter().filter(|page| page["source"] == "page") {
            self.show(false, page["data"].take());
        }
    }

    fn raise(&mut self, content: &Value) {
        self.raised = true;
        let lines: Vec<&str> =
            content["traceback"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let name = text(content, "ename");
        self.queue.push_back(Happening::Raised(CodeError {
            // Some kernels write what was wrong, and say no more than that something was.
            value: if name.is_empty() {
                "the cell failed; what it wrote tells why".to_owned()
            } else {
                text(content, "evalue")
            },
            name: if name.is_empty() { text(content, "status") } else { name },
            traceback: lines.join("\n"),
        }));
    }
}

fn text(content: &Value, key: &str) -> String {
    content[key].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the messages of request `1` come to.
    fn told(messages: &[(&str, Value)]) -> Vec<String> {
        let mut request = Request { id: "1".into(), ..Request::default() };
        for (kind, content) in messages {
            let incoming = |parent: &str| Incoming {
                kind: (*kind).to_owned(),
                parent: parent.to_owned(),
                content: content.clone(),
            };
            request.take(incoming("2"));
            request.take(incoming("1"));
        }
        request.queue.iter().map(|happening| format!("{happening:?}")).collect()
    }

    #[test]
    fn messages_are_put_into_words_once() {
        type Row<'a> = (&'a [(&'a str, Value)], &'a [&'a str]);
        let rows: [Row; 5] = [
            (
                &[
                    ("execute_input", json!({"execution_count": 3})),
                    ("stream", json!({"name": "stdout", "text": "a"})),
                    ("stream", json!({"name": "stderr", "text": "b"})),
                    ("execute_reply", json!({"status": "ok", "execution_count": 3})),
                ],
                &["Count(3)", "Stdout(\"a\")", "Stderr(\"b\")"],
            ),
            (
                &[
                    ("error", json!({"ename": "E", "evalue": "v", "traceback": ["a", "b"]})),
                    ("execute_reply", json!({"status": "error", "ename": "E", "evalue": "v"})),
                ],
                &["Raised(CodeError { name: \"E\", value: \"v\", traceback: \"a\\nb\" })"],
            ),
            (
                &[("execute_reply", json!({"status": "error"}))],
                &[
                    "Raised(CodeError { name: \"error\", value: \"the cell failed; what it wrote tells why\", traceback: \"\" })",
                ],
            ),
            (
                &[("execute_reply", json!({"status": "ok", "payload": [{"source": "page", "data": {}}]}))],
                &["Shown { main: false, forms: {} }"],
            ),
            (
                &[("clear_output", json!({})), ("stream", json!(7)), ("display_data", json!(null))],
                &["Stdout(\"\")"],
            ),
        ];
        for (messages, expect) in rows {
            assert_eq!(told(messages), expect, "{messages:?}");
        }
    }
}
