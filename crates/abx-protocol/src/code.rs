//! The code service: HTTP on a port of its own inside the sandbox, results as one JSON object a line.
//!
//! ```text
//! GET    /health                                → 200 "OK"
//! POST   /execute                ExecuteRequest → 200, an Event a line; 400, 404, 429 as text
//! GET    /contexts                              → [ContextInfo], in the order they were made
//! POST   /contexts               NewContext     → ContextInfo
//! DELETE /contexts/{id}                         → 204
//! POST   /contexts/{id}/restart                 → 200
//! ```
//!
//! The routes and events are E2B's; what is ours beside them is marked, and clients of E2B pass over it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The port it has inside the sandbox.
pub const PORT: u16 = 49999;

/// The capability without which it does not exist.
pub const CAPABILITY: &str = "code";

/// The variable that says how missing modules are to be had: [`AUTO_INSTALL_PIP`], or nothing. A template sets
/// it in `build.env`, a caller with `--env`.
pub const AUTO_INSTALL: &str = "ABX_AUTO_INSTALL";

/// The value of [`AUTO_INSTALL`] under which the distribution of a missing Python module is installed.
pub const AUTO_INSTALL_PIP: &str = "pip";

/// A cell to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecuteRequest {
    pub code: String,
    /// Where to run it; the default context of the language where absent. Not together with `language`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// `python` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Set while this cell runs, and put back afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_vars: Option<BTreeMap<String, String>>,
    /// Ours: the directory of the default context, one for each directory. The user's home where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Ours: `false` leaves missing modules missing, whatever the template says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_install: Option<bool>,
}

/// What a new context is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewContext {
    /// The user's home where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// `python` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// A context: a kernel with what was defined in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextInfo {
    pub id: String,
    pub language: String,
    pub cwd: String,
    /// Ours: what runs it, such as `python3` (a kernel's name) or `worker`.
    pub kernel: String,
    /// Ours.
    pub state: ContextState,
}

/// What a context does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContextState {
    /// Its kernel starts with the first cell.
    #[default]
    Fresh,
    Idle,
    Busy,
    /// Its kernel has ended; a new one starts with the next cell.
    Ended,
}

/// Something that happened while a cell ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// How many cells the context has run, this one included.
    NumberOfExecutions {
        execution_count: u64,
    },
    Stdout(Text),
    Stderr(Text),
    Result(Box<CodeResult>),
    /// The cell raised.
    Error(CodeError),
    /// After five seconds of silence.
    Keepalive,
    /// The last one.
    EndOfExecution,
    /// Ours: a missing module was looked after; the cell runs once more where `installed` says so.
    AutoInstall(AutoInstall),
    /// Ours: the context's kernel had ended by itself and a new one was started, without what was defined.
    KernelRestarted {
        reason: String,
    },
    /// What a later version may send.
    #[serde(other)]
    Unknown,
}

/// A piece of output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    pub text: String,
    /// Nanoseconds since the epoch.
    #[serde(default)]
    pub timestamp: u64,
}

/// One value or picture, in every form it has. Binary forms are base64.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodeResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub svg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub png: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jpeg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pdf: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub javascript: Option<String>,
    /// A table: its columns by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// What a chart shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<Value>,
    /// Further forms by their MIME type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
    /// The value of the cell's last expression, as opposed to something displayed on the way.
    pub is_main_result: bool,
}

/// What a cell raised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeError {
    pub name: String,
    pub value: String,
    /// As the language shows it, escapes for colours included.
    pub traceback: String,
}

/// What came of a missing module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutoInstall {
    pub module: String,
    /// What provides it; empty where nothing was tried.
    pub distributions: Vec<String>,
    pub installed: bool,
    /// Why not, where it was not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_form_of_the_wire() {
        let text = || Text { text: "a".into(), timestamp: 7 };
        let result = CodeResult { text: Some("1".into()), is_main_result: true, ..CodeResult::default() };
        let rows = [
            (
                Event::NumberOfExecutions { execution_count: 3 },
                r#"{"type":"number_of_executions","execution_count":3}"#,
            ),
            (Event::Stdout(text()), r#"{"type":"stdout","text":"a","timestamp":7}"#),
            (Event::Stderr(text()), r#"{"type":"stderr","text":"a","timestamp":7}"#),
            (Event::Result(Box::new(result)), r#"{"type":"result","text":"1","is_main_result":true}"#),
            (
                Event::Error(CodeError { name: "E".into(), value: "v".into(), traceback: "t".into() }),
                r#"{"type":"error","name":"E","value":"v","traceback":"t"}"#,
            ),
            (Event::Keepalive, r#"{"type":"keepalive"}"#),
            (Event::EndOfExecution, r#"{"type":"end_of_execution"}"#),
        ];
        for (event, text) in rows {
            assert_eq!(serde_json::to_string(&event).expect("json"), text);
            assert_eq!(serde_json::from_str::<Event>(text).expect(text), event);
        }
    }

    #[test]
    fn what_is_not_known_is_passed_over() {
        let event: Event = serde_json::from_str(r#"{"type":"weather","sky":"blue"}"#).expect("unknown");
        assert_eq!(event, Event::Unknown);
        let request: ExecuteRequest =
            serde_json::from_str(r#"{"code":"1","context_id":null,"language":null,"env_vars":null}"#)
                .expect("nulls");
        assert_eq!(request, ExecuteRequest { code: "1".into(), ..ExecuteRequest::default() });
    }
}
