//! Where every value of a template comes from.

use abx_core::Progress;
use abx_source::{Lineage, Package};
use abx_spec::Explained;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{Context, CreateRequest, Error};

/// One value a sandbox would have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// As the full form of a template writes it: `resources.cpu`.
    pub key: String,
    pub value: Value,
    pub origin: Origin,
}

/// Who says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Nobody.
    Default,
    /// A file of the template or of one it inherits from.
    File { file: String, line: usize, column: usize },
    /// The caller: the option's name.
    Option(&'static str),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { file, line, .. } => write!(f, "{file}:{line}"),
            Self::Option(name) => write!(f, "--{name}"),
        }
    }
}

/// Resolves what is asked for, without building it, and explains every value of the sandbox that would come of it. An
/// image named directly has none but the defaults and the caller's.
pub async fn explain(
    context: &Context,
    request: &CreateRequest,
    progress: &dyn Progress,
) -> Result<Vec<Explanation>, Error> {
    let source = super::fetch(context, &request.reference, &request.fetch, progress).await?;
    let lineage = abx_source::resolve(&request.reference, &source)?;
    let members: Vec<_> =
        lineage.packages.iter().map(|package| (&package.spec, written(package), package.file())).collect();
    let explained = abx_spec::explain(&members).into_iter().map(|row| declared(row, &lineage));
    let mut rows: Vec<Explanation> = explained.map(Explanation::from).collect();
    for (key, name, value) in overrides(request) {
        let row = Explanation { key: key.clone(), value, origin: Origin::Option(name) };
        match rows.iter_mut().find(|known| known.key == key && name != "port") {
            Some(known) => *known = row,
            None => rows.push(row),
        }
    }
    Ok(rows)
}

/// The text of a template's file; nothing where a Dockerfile alone stands for it.
fn written(package: &Package) -> &str {
    let is_alone = package.dockerfile.as_ref().is_some_and(|dockerfile| dockerfile.is_alone);
    if is_alone { "" } else { package.text() }
}

/// A value that no template.yaml has, with its place in the Dockerfile that has it.
fn declared(mut row: Explained, lineage: &Lineage) -> Explained {
    if row.place.is_none() {
        let places = |package: &Package| package.declared_at(&row.key, row.value.as_u64());
        row.place = match row.key.as_str() {
            // Every member adds to these, and the others are the last one's.
            "network.ports" => lineage.packages.iter().find_map(places),
            key => lineage.effective().origin(key).and_then(|origin| places(&lineage.packages[origin])),
        };
    }
    row
}

/// What the caller says: the key it stands for, the option's name and its value.
fn overrides(request: &CreateRequest) -> Vec<(String, &'static str, Value)> {
    let mut overrides = Vec::new();
    let mut add = |key: &str, name, value: Option<Value>| {
        overrides.extend(value.map(|value| (key.to_owned(), name, value)));
    };
    add("resources.cpu", "cpu", request.cpu.map(|cpu| json!(cpu)));
    add("resources.memory", "memory", request.memory.map(|memory| json!(memory)));
    add("resources.disk", "disk", request.disk.map(|disk| json!(disk)));
    add("resources.timeout", "timeout", request.timeout.map(|seconds| json!(seconds)));
    add("resources.idle_timeout", "idle-timeout", request.idle_timeout.map(|seconds| json!(seconds)));
    for (key, name, targets) in [
        ("network.egress.allow", "allow-out", &request.allow_out),
        ("network.egress.deny", "deny-out", &request.deny_out),
    ] {
        add(key, name, (!targets.is_empty()).then(|| json!(targets)));
    }
    add("capabilities", "capabilities", request.capabilities.as_ref().map(|words| json!(words)));
    for port in &request.ports {
        add("network.ports", "port", Some(json!(port.guest)));
    }
    for (name, value) in &request.env {
        add(&format!("build.env.{name}"), "env", Some(json!(value)));
    }
    overrides
}

impl From<Explained> for Explanation {
    fn from(row: Explained) -> Self {
        let origin = row.place.map_or(Origin::Default, |place| Origin::File {
            file: place.file,
            line: place.line,
            column: place.column,
        });
        Self { key: row.key, value: row.value, origin }
    }
}
