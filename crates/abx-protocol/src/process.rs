//! `process.Process`: starting processes, talking to them, ending them.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::{Enumeration, Message, Oneof};
use serde::{Deserialize, Serialize};

use crate::json;

/// The service's name; a call's path is `/process.Process/<Method>`.
pub const SERVICE: &str = "process.Process";

/// What to run.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProcessConfig {
    /// Looked up through the process's own PATH.
    #[prost(string, tag = "1")]
    pub cmd: String,
    #[prost(string, repeated, tag = "2")]
    pub args: Vec<String>,
    #[prost(btree_map = "string, string", tag = "3")]
    pub envs: BTreeMap<String, String>,
    #[prost(string, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// A terminal.
#[derive(Clone, Copy, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Pty {
    #[prost(message, optional, tag = "1")]
    pub size: Option<PtySize>,
}

/// A terminal's size in characters.
#[derive(Clone, Copy, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct PtySize {
    #[prost(uint32, tag = "1")]
    pub cols: u32,
    #[prost(uint32, tag = "2")]
    pub rows: u32,
}

#[derive(Clone, Copy, PartialEq, Message, Serialize, Deserialize)]
pub struct ListRequest {}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ListResponse {
    #[prost(message, repeated, tag = "1")]
    pub processes: Vec<ProcessInfo>,
}

/// A running process.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessInfo {
    #[prost(message, optional, tag = "1")]
    pub config: Option<ProcessConfig>,
    #[prost(uint32, tag = "2")]
    pub pid: u32,
    #[prost(string, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StartRequest {
    #[prost(message, optional, tag = "1")]
    pub process: Option<ProcessConfig>,
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<Pty>,
    #[prost(string, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Absent means yes.
    #[prost(bool, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<bool>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StartResponse {
    #[prost(message, optional, tag = "1")]
    pub event: Option<ProcessEvent>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectRequest {
    #[prost(message, optional, tag = "1")]
    pub process: Option<ProcessSelector>,
}

/// The same shape as [`StartResponse`].
pub type ConnectResponse = StartResponse;

/// Something that happened to a process.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessEvent {
    #[prost(oneof = "Event", tags = "1, 2, 3, 4")]
    #[serde(flatten)]
    pub event: Option<Event>,
}

/// The kinds of [`ProcessEvent`].
#[derive(Clone, PartialEq, Oneof, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    #[prost(message, tag = "1")]
    Start(StartEvent),
    #[prost(message, tag = "2")]
    Data(DataEvent),
    #[prost(message, tag = "3")]
    End(EndEvent),
    #[prost(message, tag = "4")]
    KeepAlive(KeepAlive),
}

impl From<Event> for ProcessEvent {
    fn from(event: Event) -> Self {
        Self { event: Some(event) }
    }
}

impl ProcessEvent {
    /// A piece of standard output.
    pub fn stdout(bytes: Bytes) -> Self {
        Event::Data(DataEvent { output: Some(Output::Stdout(bytes)) }).into()
    }
}

/// Always first.
#[derive(Clone, Copy, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StartEvent {
    #[prost(uint32, tag = "1")]
    pub pid: u32,
}

/// A piece of output, cut anywhere.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct DataEvent {
    #[prost(oneof = "Output", tags = "1, 2, 3")]
    #[serde(flatten)]
    pub output: Option<Output>,
}

/// Where a piece of output came from.
#[derive(Clone, PartialEq, Oneof, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    #[prost(bytes = "bytes", tag = "1")]
    Stdout(#[serde(with = "json::bytes")] Bytes),
    #[prost(bytes = "bytes", tag = "2")]
    Stderr(#[serde(with = "json::bytes")] Bytes),
    #[prost(bytes = "bytes", tag = "3")]
    Pty(#[serde(with = "json::bytes")] Bytes),
}

impl Output {
    /// What was written, wherever to.
    pub fn bytes(&self) -> &Bytes {
        match self {
            Self::Stdout(bytes) | Self::Stderr(bytes) | Self::Pty(bytes) => bytes,
        }
    }
}

/// Always last.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EndEvent {
    /// −1 where a signal ended it.
    #[prost(sint32, tag = "1")]
    pub exit_code: i32,
    /// It exited, as opposed to being ended by a signal.
    #[prost(bool, tag = "2")]
    pub exited: bool,
    /// `exit status N` or `signal: killed`, see [`crate::signal`].
    #[prost(string, tag = "3")]
    pub status: String,
    /// The status again, unless it is 0.
    #[prost(string, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Message, Serialize, Deserialize)]
pub struct KeepAlive {}

/// Names a process.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessSelector {
    #[prost(oneof = "Selector", tags = "1, 2")]
    #[serde(flatten)]
    pub selector: Option<Selector>,
}

/// By number or by the caller's tag.
#[derive(Clone, PartialEq, Oneof, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selector {
    #[prost(uint32, tag = "1")]
    Pid(u32),
    #[prost(string, tag = "2")]
    Tag(String),
}

impl ProcessSelector {
    /// By number.
    pub fn pid(pid: u32) -> Self {
        Self { selector: Some(Selector::Pid(pid)) }
    }

    /// By what it was started with.
    pub fn tag(tag: impl Into<String>) -> Self {
        Self { selector: Some(Selector::Tag(tag.into())) }
    }
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateRequest {
    #[prost(message, optional, tag = "1")]
    pub process: Option<ProcessSelector>,
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<Pty>,
}

/// The answer of calls that only succeed or fail.
#[derive(Clone, Copy, PartialEq, Message, Serialize, Deserialize)]
pub struct Empty {}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct SendInputRequest {
    #[prost(message, optional, tag = "1")]
    pub process: Option<ProcessSelector>,
    #[prost(message, optional, tag = "2")]
    pub input: Option<ProcessInput>,
}

/// Bytes for a process.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessInput {
    #[prost(oneof = "Input", tags = "1, 2")]
    #[serde(flatten)]
    pub input: Option<Input>,
}

/// Through its pipe or its terminal.
#[derive(Clone, PartialEq, Oneof, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    #[prost(bytes = "bytes", tag = "1")]
    Stdin(#[serde(with = "json::bytes")] Bytes),
    #[prost(bytes = "bytes", tag = "2")]
    Pty(#[serde(with = "json::bytes")] Bytes),
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamInputRequest {
    #[prost(oneof = "StreamInput", tags = "1, 2, 3")]
    #[serde(flatten)]
    pub event: Option<StreamInput>,
}

/// `Start` first, then `Data` and `KeepAlive` in any order.
#[derive(Clone, PartialEq, Oneof, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamInput {
    #[prost(message, tag = "1")]
    Start(StreamInputStart),
    #[prost(message, tag = "2")]
    Data(StreamInputData),
    #[prost(message, tag = "3")]
    KeepAlive(KeepAlive),
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamInputStart {
    #[prost(message, optional, tag = "1")]
    pub process: Option<ProcessSelector>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamInputData {
    #[prost(message, optional, tag = "2")]
    pub input: Option<ProcessInput>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct SendSignalRequest {
    #[prost(message, optional, tag = "1")]
    pub process: Option<ProcessSelector>,
    /// A [`Signal`]; other Linux signal numbers are accepted as they are.
    #[prost(int32, tag = "2")]
    #[serde(with = "signal_name")]
    pub signal: i32,
}

json::enum_by_name!(signal_name, crate::process::Signal);

/// The signals that have a name in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum Signal {
    Unspecified = 0,
    Kill = 9,
    Terminate = 15,
}

impl Signal {
    /// The name on the wire.
    pub fn as_str_name(self) -> &'static str {
        match self {
            Self::Unspecified => "SIGNAL_UNSPECIFIED",
            Self::Kill => "SIGNAL_SIGKILL",
            Self::Terminate => "SIGNAL_SIGTERM",
        }
    }

    /// From the name on the wire.
    pub fn from_str_name(name: &str) -> Option<Self> {
        [Self::Unspecified, Self::Kill, Self::Terminate]
            .into_iter()
            .find(|signal| signal.as_str_name() == name)
    }
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct CloseStdinRequest {
    #[prost(message, optional, tag = "1")]
    pub process: Option<ProcessSelector>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<M>(json: &str, message: &M)
    where
        M: Message + Default + Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        assert_eq!(serde_json::to_string(message).expect("json"), json);
        assert_eq!(&serde_json::from_str::<M>(json).expect("json"), message);
        assert_eq!(&M::decode(&message.encode_to_vec()[..]).expect("proto"), message);
    }

    #[test]
    fn messages_have_their_json_form() {
        check(
            r#"{"process":{"cmd":"a","args":["b"],"envs":{"K":"V"}},"stdin":false}"#,
            &StartRequest {
                process: Some(ProcessConfig {
                    cmd: "a".into(),
                    args: vec!["b".into()],
                    envs: [("K".into(), "V".into())].into(),
                    cwd: None,
                }),
                stdin: Some(false),
                ..StartRequest::default()
            },
        );
        check(
            r#"{"event":{"start":{"pid":7}}}"#,
            &StartResponse { event: Some(Event::Start(StartEvent { pid: 7 }).into()) },
        );
        check(
            r#"{"event":{"data":{"stdout":"/wA="}}}"#,
            &StartResponse { event: Some(ProcessEvent::stdout(Bytes::from_static(&[255, 0]))) },
        );
        check(
            r#"{"event":{"keepalive":{}}}"#,
            &StartResponse { event: Some(Event::KeepAlive(KeepAlive {}).into()) },
        );
        check(
            r#"{"event":{"end":{"exitCode":-1,"exited":false,"status":"signal: killed","error":"signal: killed"}}}"#,
            &StartResponse {
                event: Some(
                    Event::End(EndEvent {
                        exit_code: -1,
                        exited: false,
                        status: "signal: killed".into(),
                        error: Some("signal: killed".into()),
                    })
                    .into(),
                ),
            },
        );
        check(
            r#"{"process":{"pid":3},"signal":"SIGNAL_SIGKILL"}"#,
            &SendSignalRequest { process: Some(ProcessSelector::pid(3)), signal: 9 },
        );
        check(
            r#"{"process":{"pid":3},"signal":2}"#,
            &SendSignalRequest { process: Some(ProcessSelector::pid(3)), signal: 2 },
        );
    }

    #[test]
    fn unknown_fields_and_absent_ones_are_no_error() {
        let request: SendInputRequest =
            serde_json::from_str(r#"{"process":{"tag":"t","x":1},"input":{"pty":"aGk"},"later":[1]}"#)
                .expect("lenient");
        assert_eq!(request.process.and_then(|p| p.selector), Some(Selector::Tag("t".into())));
        assert_eq!(request.input.and_then(|i| i.input), Some(Input::Pty(Bytes::from_static(b"hi"))));
        assert_eq!(serde_json::from_str::<StartRequest>("{}").expect("empty"), StartRequest::default());
    }

    #[test]
    fn field_numbers_are_the_published_ones() {
        let end = StartResponse {
            event: Some(
                Event::End(EndEvent { exit_code: -1, exited: true, status: "s".into(), error: None }).into(),
            ),
        };
        assert_eq!(end.encode_to_vec(), b"\x0a\x09\x1a\x07\x08\x01\x10\x01\x1a\x01s");
    }
}
