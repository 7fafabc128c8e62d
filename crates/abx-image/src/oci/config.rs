//! An image's configuration file.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Digest, Healthcheck, ImageConfig};

/// The part of the file we act on, as read.
#[derive(Debug)]
pub(crate) struct ImageFile {
    architecture: String,
    author: String,
    run: Run,
    diff_ids: Vec<Digest>,
    history: Vec<Line>,
}

#[derive(Deserialize)]
struct Raw {
    architecture: Option<String>,
    author: Option<String>,
    config: Option<Run>,
    rootfs: RawRootfs,
    history: Option<Vec<Line>>,
}

#[derive(Deserialize)]
struct RawRootfs {
    diff_ids: Option<Vec<String>>,
}

/// How to run it. Docker writes `null` for what is not set.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Run {
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exposed_ports: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    env: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entrypoint: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cmd: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    working_dir: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volumes: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_signal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    healthcheck: Option<Healthcheck>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_build: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shell: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    created_by: Option<String>,
    comment: Option<String>,
    empty_layer: Option<bool>,
}

impl Line {
    fn text(&self) -> String {
        self.created_by.clone().or(self.comment.clone()).unwrap_or_default()
    }
}

impl ImageFile {
    /// Reads the file; the error says what is wrong.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let raw: Raw = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let diff_ids = raw.rootfs.diff_ids.unwrap_or_default();
        let parsed =
            diff_ids.iter().map(|text| Digest::parse(text).ok_or(format!("malformed digest {text:?}")));
        Ok(Self {
            architecture: raw.architecture.unwrap_or_default(),
            author: raw.author.unwrap_or_default(),
            run: raw.config.unwrap_or_default(),
            diff_ids: parsed.collect::<Result<_, _>>()?,
            history: raw.history.unwrap_or_default(),
        })
    }

    /// As OCI spells it; empty where the file does not say.
    pub(crate) fn architecture(&self) -> &str {
        &self.architecture
    }

    /// Digests of the unpacked layers, bottom first.
    pub(crate) fn diff_ids(&self) -> &[Digest] {
        &self.diff_ids
    }

    /// One line for each layer; empty where the file does not say.
    pub(crate) fn layer_history(&self) -> Vec<String> {
        let said = self.history.iter().filter(|line| !line.empty_layer.unwrap_or_default());
        said.map(Line::text).chain(std::iter::repeat(String::new())).take(self.diff_ids.len()).collect()
    }

    /// The lines of what made no layer, each with the number of layers before it.
    fn notes(&self) -> Vec<(usize, String)> {
        let mut layers = 0;
        let mut notes = Vec::new();
        for line in &self.history {
            match line.empty_layer.unwrap_or_default() {
                true => notes.push((layers.min(self.diff_ids.len()), line.text())),
                false => layers += 1,
            }
        }
        notes
    }

    /// What we keep of it.
    pub(crate) fn to_config(&self) -> ImageConfig {
        let run = &self.run;
        let mut config = ImageConfig {
            architecture: self.architecture.clone(),
            user: run.user.clone().unwrap_or_default(),
            workdir: run.working_dir.clone().unwrap_or_default(),
            entrypoint: run.entrypoint.clone().unwrap_or_default(),
            cmd: run.cmd.clone().unwrap_or_default(),
            exposed_ports: run.exposed_ports.iter().flat_map(Map::keys).cloned().collect(),
            history: self.layer_history(),
            notes: self.notes(),
            volumes: run.volumes.iter().flat_map(Map::keys).cloned().collect(),
            stop_signal: run.stop_signal.clone().unwrap_or_default(),
            healthcheck: run.healthcheck.clone(),
            triggers: run.on_build.clone().unwrap_or_default(),
            shell: run.shell.clone().unwrap_or_default(),
            author: self.author.clone(),
            ..ImageConfig::default()
        };
        for variable in run.env.iter().flatten() {
            let (name, value) = variable.split_once('=').unwrap_or((variable, ""));
            config.set_env(name, value);
        }
        for (name, value) in run.labels.iter().flatten() {
            config.set_label(name, value.as_str().unwrap_or_default());
        }
        config
    }
}

/// The file for an image of ours. `created` is a time in RFC 3339.
pub(crate) fn write(config: &ImageConfig, diff_ids: &[Digest], created: &str) -> Vec<u8> {
    let some = |text: &String| (!text.is_empty()).then(|| text.clone());
    let list = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    let keys = |list: &[String]| -> Option<Map<String, Value>> {
        (!list.is_empty()).then(|| list.iter().map(|key| (key.clone(), json!({}))).collect())
    };
    let labels = config.labels.iter().map(|(name, value)| (name.clone(), json!(value)));
    let run = Run {
        user: some(&config.user),
        exposed_ports: keys(&config.exposed_ports),
        env: list(&config.env.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()),
        entrypoint: list(&config.entrypoint),
        cmd: list(&config.cmd),
        working_dir: some(&config.workdir),
        labels: (!config.labels.is_empty()).then(|| labels.collect()),
        volumes: keys(&config.volumes),
        stop_signal: some(&config.stop_signal),
        healthcheck: config.healthcheck.clone(),
        on_build: list(&config.triggers),
        shell: list(&config.shell),
    };
    let history = history(config, diff_ids.len(), created);
    let mut file = json!({
        "created": created,
        "architecture": config.architecture,
        "os": "linux",
        "config": run,
        "rootfs": { "type": "layers", "diff_ids": diff_ids.iter().map(Digest::to_string).collect::<Vec<_>>() },
        "history": history,
    });
    if !config.author.is_empty() {
        file["author"] = json!(config.author);
    }
    serde_json::to_vec(&file).expect("a configuration is plain data")
}

/// Exactly one line for each layer, since readers refuse another number, and the notes between them.
fn history(config: &ImageConfig, layers: usize, created: &str) -> Vec<Value> {
    let mut notes = config.notes.iter().peekable();
    let mut history = Vec::new();
    for count in 0..=layers {
        while let Some((_, note)) = notes.next_if(|(before, _)| *before <= count || count == layers) {
            history.push(json!({ "created": created, "created_by": note, "empty_layer": true }));
        }
        if count < layers {
            let line = config.history.get(count).map_or("", String::as_str);
            history.push(json!({ "created": created, "created_by": line }));
        }
    }
    history
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_comes_back_with_its_order() {
        let mut config = ImageConfig {
            architecture: "amd64".into(),
            user: "user".into(),
            workdir: "/app".into(),
            entrypoint: vec!["tini".into(), "--".into()],
            cmd: vec!["bash".into()],
            exposed_ports: vec!["80/tcp".into(), "53/udp".into()],
            history: vec!["base".into(), "apt_install: git".into()],
            notes: vec![(0, "ARG x".into()), (2, "CMD bash".into()), (2, "USER user".into())],
            volumes: vec!["/data".into()],
            stop_signal: "SIGINT".into(),
            healthcheck: Some(Healthcheck {
                test: vec!["CMD-SHELL".into(), "true".into()],
                interval: 5_000_000_000,
                retries: 3,
                ..Healthcheck::default()
            }),
            triggers: vec!["RUN true".into()],
            shell: vec!["/bin/bash".into(), "-c".into()],
            author: "me".into(),
            ..ImageConfig::default()
        };
        for (name, value) in [("Z", "1"), ("A", "x=y"), ("EMPTY", "")] {
            config.set_env(name, value);
            config.set_label(&name.to_lowercase(), value);
        }
        let diff_ids = [Digest::of(b"1"), Digest::of(b"2")];
        let file = ImageFile::read(&write(&config, &diff_ids, "2020-01-01T00:00:00Z")).expect("read");
        assert_eq!(file.to_config(), config);
        assert_eq!(file.diff_ids(), diff_ids);
    }

    #[test]
    fn nulls_empty_layers_and_missing_lines_are_read() {
        let digest = Digest::of(b"1");
        let text = json!({
            "architecture": "arm64", "os": "linux",
            "config": { "Env": null, "Cmd": null, "Entrypoint": null, "Labels": null, "Volumes": {} },
            "rootfs": { "type": "layers", "diff_ids": [digest.to_string(), digest.to_string()] },
            "history": [{ "created_by": "ADD" }, { "created_by": "ENV", "empty_layer": true }],
        });
        let file = ImageFile::read(text.to_string().as_bytes()).expect("read");
        assert_eq!(file.layer_history(), ["ADD", ""]);
        assert_eq!(file.to_config().notes, [(1, "ENV".to_owned())]);
        assert!(ImageFile::read(br#"{"rootfs":{"diff_ids":["sha256:../x"]}}"#).is_err());
        assert!(ImageFile::read(b"{}").is_err());
    }
}
