//! What each verb looks at, one reader a verb.

use super::super::reader::{Fields, Reader};
use super::demands::{any_text, demands, json, object, texts, versions};
use crate::limits::PROBE_SECONDS;
use crate::problem::Problem;
use crate::spec::At;
use crate::suite::{
    CallCheck, Check, CodeCheck, Command, FileCheck, FileKind, HttpWish, ImageCheck, Manager, PackageWish,
    PortCheck, ProgramWish, RunCheck, SuiteProblem,
};
use crate::yaml::{Entry, Node, Value};

/// Seconds a command, a cell or a call may take.
const TIMEOUT: f64 = 60.0;
/// Seconds in which a port or a state of health must come.
const WITHIN: f64 = 10.0;

const HTTP: &[&str] = &["method", "path", "status", "body"];
const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const HEALTH: &[&str] = &["none", "starting", "healthy", "unhealthy"];
const PACKAGES: &[&str] = &["apt", "pip", "npm"];
const FORMATS: &[&str] = &[
    "text",
    "html",
    "markdown",
    "svg",
    "png",
    "jpeg",
    "pdf",
    "latex",
    "json",
    "javascript",
    "data",
    "chart",
];
const IMAGE: &[&str] = &["max_size", "caches"];
const RESOURCES: &[&str] = &[
    "cpu",
    "memory",
    "disk",
    "pids",
    "timeout",
    "idle_timeout",
    "mode",
    "workdir",
    "user",
    "shell",
    "ports",
];

/// The keys that belong to a verb.
pub(super) fn keys(verb: &str) -> &'static [&'static str] {
    match verb {
        "run" => &["user", "cwd", "env", "stdin", "login", "timeout", "status", "stdout", "stderr"],
        "code" => &["language", "timeout", "stdout", "stderr", "result", "formats", "error"],
        "call" => &["args", "timeout", "result", "error"],
        "file" => &["exists", "type", "mode", "owner", "group", "content"],
        "port" => &["within", "http"],
        "health" => &["within"],
        _ => &[],
    }
}

/// Reads what `verb` looks at; `None` behind a fault.
pub(super) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>, verb: &'static str) -> Option<Check> {
    let Some(node) = fields.get(verb) else {
        reader.fault(Problem::Blank { key: verb.to_owned() }, fields.entry(verb)?.key_span);
        return None;
    };
    match verb {
        "run" => run(reader, fields, node),
        "code" => code(reader, fields, node),
        "call" => call(reader, fields, node),
        "commands" => Some(Check::Commands(texts(reader, fields, "commands"))),
        "programs" => programs(reader, node),
        "packages" => packages(reader, node),
        "file" => file(reader, fields, node),
        "port" => port(reader, fields, node),
        "capabilities" => {
            let words = texts(reader, fields, "capabilities").into_iter().map(|word| word.value).collect();
            Some(Check::Capabilities(reader.at(words, node.span)))
        }
        "health" => {
            let word = reader.one_of(node, "health", HEALTH)?.to_owned();
            let within = seconds(reader, fields, "within", WITHIN);
            Some(Check::Health { word: reader.at(word, node.span), within })
        }
        "resources" => resources(reader, node),
        _ => image(reader, node),
    }
}

fn run(reader: &mut Reader<'_>, fields: &Fields<'_>, node: &Node) -> Option<Check> {
    let command = match &node.value {
        Value::List(words) => {
            let words: Vec<String> = words.iter().filter_map(|word| any_text(reader, word, "run")).collect();
            Command::Words((!words.is_empty()).then_some(words)?)
        }
        _ => Command::Shell(reader.text(node, "run")?.value),
    };
    let is_login = fields.get("login").and_then(|node| reader.boolean(node, "login")).unwrap_or_default();
    if let (Command::Words(_), true, Some(entry)) = (&command, is_login, fields.entry("login")) {
        let problem = SuiteProblem::Exclude { key: "login", other: "a list of words in `run`" };
        reader.fault(problem.into(), entry.key_span);
    }
    let env = super::super::build::env(reader, fields);
    Some(Check::Run(RunCheck {
        command,
        user: super::super::sandbox::user(reader, fields),
        cwd: fields.get("cwd").and_then(|node| reader.text(node, "cwd")).map(|cwd| cwd.value),
        env: env.into_iter().map(|(name, value)| (name, value.value)).collect(),
        stdin: fields.get("stdin").and_then(|node| any_text(reader, node, "stdin")),
        is_login,
        timeout: seconds(reader, fields, "timeout", TIMEOUT),
        status: number(reader, fields, "status", 0..=255),
        stdout: demands(reader, fields, "stdout"),
        stderr: demands(reader, fields, "stderr"),
    }))
}

fn code(reader: &mut Reader<'_>, fields: &Fields<'_>, node: &Node) -> Option<Check> {
    let code = reader.text(node, "code")?.value;
    Some(Check::Code(CodeCheck {
        code,
        language: fields
            .get("language")
            .and_then(|node| reader.text(node, "language"))
            .map(|word| word.value),
        timeout: seconds(reader, fields, "timeout", TIMEOUT),
        stdout: demands(reader, fields, "stdout"),
        stderr: demands(reader, fields, "stderr"),
        result: demands(reader, fields, "result"),
        formats: formats(reader, fields),
        error: fields.get("error").and_then(|node| reader.text(node, "error")),
    }))
}

/// Forms of results: their words, or a MIME type.
fn formats(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<At<String>> {
    let mut formats = Vec::new();
    for node in reader.items(fields, "", "formats") {
        let is_mime = matches!(&node.value, Value::Scalar(scalar) if scalar.text.contains('/'));
        let format = match is_mime {
            true => reader.text(node, "formats").map(|format| format.value),
            false => reader.one_of(node, "formats", FORMATS).map(str::to_owned),
        };
        formats.extend(format.map(|format| reader.at(format, node.span)));
    }
    formats
}

fn call(reader: &mut Reader<'_>, fields: &Fields<'_>, node: &Node) -> Option<Check> {
    let name = reader.text(node, "call")?.value;
    let args = fields.get("args").map(|node| {
        if !matches!(node.value, Value::Map(_)) {
            reader.wrong_type(node, "args", "a map of names to values", None);
        }
        object(node)
    });
    let result = fields.entry("result").map(|entry| reader.at(json(&entry.node), entry.node.span));
    let error = demands(reader, fields, "error");
    if let (Some(_), false, Some(entry)) = (&result, error.is_empty(), fields.entry("error")) {
        reader.fault(SuiteProblem::Exclude { key: "error", other: "result" }.into(), entry.key_span);
    }
    let timeout = seconds(reader, fields, "timeout", TIMEOUT);
    Some(Check::Call(CallCheck { name, args: args.unwrap_or_default(), timeout, result, error }))
}

fn programs(reader: &mut Reader<'_>, node: &Node) -> Option<Check> {
    let programs = versions(reader, node, "programs").into_iter();
    let programs =
        programs.map(|At { value: (name, range), place }| At { value: ProgramWish { name, range }, place });
    Some(Check::Programs(programs.collect()))
}

fn packages(reader: &mut Reader<'_>, node: &Node) -> Option<Check> {
    let fields = reader.own_fields(node, "packages", PACKAGES);
    let mut packages = Vec::new();
    for (key, manager) in [("apt", Manager::Apt), ("pip", Manager::Pip), ("npm", Manager::Npm)] {
        let Some(node) = fields.get(key) else { continue };
        for At { value: (name, range), place } in versions(reader, node, &format!("packages.{key}")) {
            packages.push(At { value: PackageWish { manager, name, range }, place });
        }
    }
    Some(Check::Packages(packages))
}

fn file(reader: &mut Reader<'_>, fields: &Fields<'_>, node: &Node) -> Option<Check> {
    let path = reader.text(node, "file")?;
    let exists = fields.get("exists").and_then(|node| reader.boolean(node, "exists")).unwrap_or(true);
    let kind = fields.get("type").and_then(|node| {
        let kind = match reader.one_of(node, "type", &["file", "directory"])? {
            "directory" => FileKind::Directory,
            _ => FileKind::File,
        };
        Some(reader.at(kind, node.span))
    });
    let check = FileCheck {
        path,
        exists,
        kind,
        mode: fields.get("mode").and_then(|node| mode(reader, node)),
        owner: fields.get("owner").and_then(|node| reader.text(node, "owner")),
        group: fields.get("group").and_then(|node| reader.text(node, "group")),
        content: demands(reader, fields, "content"),
    };
    let demand = ["type", "mode", "owner", "group", "content"].into_iter().find_map(|key| fields.entry(key));
    if let (false, Some(entry)) = (exists, demand) {
        let problem = SuiteProblem::NoUse { verb: "exists: false", key: entry.key.clone() };
        reader.fault(problem.into(), entry.key_span);
    }
    Some(Check::File(check))
}

fn mode(reader: &mut Reader<'_>, node: &Node) -> Option<At<u32>> {
    let text = reader.text(node, "mode")?.value;
    match u32::from_str_radix(&text, 8).ok().filter(|mode| *mode <= 0o7777) {
        Some(mode) => Some(reader.at(mode, node.span)),
        None => {
            reader.fault(SuiteProblem::Mode { text }.into(), node.span);
            None
        }
    }
}

fn port(reader: &mut Reader<'_>, fields: &Fields<'_>, node: &Node) -> Option<Check> {
    let port = reader.port(node, "port")?;
    let within = seconds(reader, fields, "within", WITHIN);
    let http = fields.get("http").map(|node| http(reader, node));
    Some(Check::Port(PortCheck { port, within, http }))
}

fn http(reader: &mut Reader<'_>, node: &Node) -> HttpWish {
    let fields = reader.own_fields(node, "http", HTTP);
    let method = fields.get("method").and_then(|node| reader.one_of(node, "http.method", METHODS));
    let path = fields.get("path").and_then(|node| reader.text(node, "http.path"));
    HttpWish {
        method: method.unwrap_or("GET").to_owned(),
        path: path.map_or_else(|| "/".to_owned(), |path| path.value),
        status: number(reader, &fields, "status", 100..=599),
        body: demands(reader, &fields, "body"),
    }
}

fn resources(reader: &mut Reader<'_>, node: &Node) -> Option<Check> {
    reader.own_fields(node, "resources", RESOURCES);
    let Value::Map(entries) = &node.value else { return None };
    let known = |entry: &Entry| RESOURCES.iter().find(|key| **key == entry.key).copied();
    let wishes = entries
        .iter()
        .filter_map(|entry| Some((known(entry)?, reader.at(json(&entry.node), entry.node.span))));
    Some(Check::Resources(wishes.collect()))
}

fn image(reader: &mut Reader<'_>, node: &Node) -> Option<Check> {
    let fields = reader.own_fields(node, "image", IMAGE);
    let caches = fields.get("caches").and_then(|node| {
        let caches = reader.boolean(node, "image.caches")?;
        Some(reader.at(caches, node.span))
    });
    Some(Check::Image(ImageCheck { max_size: number(reader, &fields, "max_size", 1..=1_000_000), caches }))
}

fn seconds(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str, default: f64) -> f64 {
    fields.get(key).and_then(|node| reader.float(node, key, PROBE_SECONDS)).unwrap_or(default)
}

fn number<T: TryFrom<u64>>(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    key: &str,
    bounds: std::ops::RangeInclusive<u64>,
) -> Option<At<T>> {
    let node = fields.get(key)?;
    let number = reader.integer(node, key, bounds)?;
    T::try_from(number).ok().map(|number| reader.at(number, node.span))
}
