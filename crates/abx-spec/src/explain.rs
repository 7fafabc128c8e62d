//! Where every value of a lineage comes from.

mod places;

use abx_core::Egress;
use abx_core::egress::Verdict;
use serde_json::{Value, json};

use crate::merge::merge;
use crate::spec::{At, Base, Check, Mode, Place, Spec};
use crate::{Effective, Probe};
use places::Places;

/// One value of a template with all it inherits.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// As the full form writes it: `resources.cpu`. An item of a list has the list's key.
    pub key: String,
    pub value: Value,
    /// Where it is written; `None` for a default.
    pub place: Option<Place>,
}

/// A member of a lineage: its specification, the text that was read from, and the file's name.
pub type Member<'a> = (&'a Spec, &'a str, &'a str);

/// Every value of the lineage, root first, in the order of the full form; what nobody states and has no default is left
/// out. Build steps are listed in the order they run.
pub fn explain(lineage: &[Member<'_>]) -> Vec<Explained> {
    let effective = merge(lineage.iter().map(|(spec, ..)| *spec));
    let places = lineage.iter().map(|(_, text, file)| Places::read(text, file)).collect();
    let mut explainer = Explainer { effective: &effective, places, rows: Vec::new() };
    explainer.metadata();
    explainer.build(lineage);
    explainer.resources();
    explainer.sandbox();
    explainer.agent();
    explainer.rows
}

struct Explainer<'a> {
    effective: &'a Effective,
    places: Vec<Places>,
    rows: Vec<Explained>,
}

impl Explainer<'_> {
    fn metadata(&mut self) {
        let metadata = &self.effective.metadata;
        // Never inherited, so of the template itself.
        for (key, value) in [("metadata.name", &metadata.name), ("metadata.version", &metadata.version)] {
            if !value.is_empty() {
                let place = self.places.last().and_then(|places| places.of(key));
                self.push(key, json!(value), place);
            }
        }
        for (key, value) in [
            ("metadata.display_name", &metadata.display_name),
            ("metadata.description", &metadata.description),
            ("metadata.author", &metadata.author),
            ("metadata.license", &metadata.license),
            ("metadata.homepage", &metadata.homepage),
            ("metadata.category", &metadata.category),
        ] {
            self.stated(key, value.as_ref().map(|value| json!(value)));
        }
        self.united("metadata.tags", metadata.tags.iter().map(|tag| json!(tag)));
    }

    fn build(&mut self, lineage: &[Member<'_>]) {
        for (member, (spec, ..)) in lineage.iter().enumerate() {
            match &spec.base {
                Some(Base::Image(at)) => self.at("base.image", at, json!(at.value)),
                Some(Base::From(at) | Base::Either(at)) => self.at("base.from", at, json!(at.value)),
                None => {}
            }
            let build = &spec.build;
            for (key, list) in [
                ("build.apt_install", &build.apt_install),
                ("build.pip_install", &build.pip_install),
                ("build.npm_install", &build.npm_install),
            ] {
                list.iter().for_each(|at| self.at(key, at, json!(at.value)));
            }
            for at in &build.copy {
                self.at("build.copy", at, json!({ "src": at.value.src, "dest": at.value.dest }));
            }
            build.run.iter().for_each(|at| self.at("build.run", at, json!(at.value)));
            for (name, at) in &build.env {
                // A later member's entry takes the place of this one, unless it builds on it.
                let replaced = |(later, ..): &Member<'_>| {
                    later.build.env.iter().any(|(other, at)| other == name && !at.value.contains('$'))
                };
                if !lineage[member + 1..].iter().any(replaced) {
                    self.at(&format!("build.env.{name}"), at, json!(at.value));
                }
            }
        }
    }

    fn resources(&mut self) {
        let effective = self.effective;
        self.always("resources.cpu", json!(effective.cpu));
        self.always("resources.memory", json!(effective.memory));
        self.always("resources.disk", json!(effective.disk));
        self.stated("resources.gpu", effective.gpu.as_ref().map(|gpu| json!(gpu)));
        self.always("resources.timeout", json!(effective.timeout));
        self.always("resources.idle_timeout", json!(effective.idle_timeout));
        self.united("network.ports", effective.ports.iter().map(|port| json!(port)));
        self.always("network.public", json!(effective.public));
        self.stated("network.egress", effective.egress.as_ref().map(egress));
    }

    fn sandbox(&mut self) {
        let effective = self.effective;
        let mode = match effective.mode {
            Mode::Ephemeral => "ephemeral",
            Mode::Persistent => "persistent",
        };
        self.always("sandbox.mode", json!(mode));
        self.always("sandbox.workdir", json!(effective.workdir));
        self.always("sandbox.user", json!(effective.user));
        self.stated("sandbox.shell", effective.shell.as_ref().map(|shell| json!(shell)));
        let startup = effective.startup_command.as_ref();
        self.stated("sandbox.startup_command", startup.map(|at| json!(at.value)));
        let readiness = effective.readiness_probe.as_ref().map(|at| probe(&at.value));
        self.stated("sandbox.readiness_probe", readiness);
        self.always("capabilities", json!(effective.capabilities));
        let check = effective.healthcheck.as_ref().map(|check| {
            json!({
                "command": check.command.value, "interval": check.interval,
                "timeout": check.timeout, "retries": check.retries, "start_period": check.start_period,
            })
        });
        self.stated("healthcheck", check);
    }

    fn agent(&mut self) {
        let agent = &self.effective.agent;
        self.stated("agent.description", agent.description.as_ref().map(|text| json!(text)));
        self.united("agent.triggers", agent.triggers.iter().map(|word| json!(word)));
        self.stated("agent.instructions", agent.instructions.as_ref().map(|text| json!(text)));
    }

    /// A value that is there whether somebody states it or not.
    fn always(&mut self, key: &'static str, value: Value) {
        let place = self.effective.origin(key).and_then(|member| self.places[member].of(key));
        self.push(key, value, place);
    }

    /// A value that is there only where somebody states it; a `null` that drops the parent's is such a statement.
    fn stated(&mut self, key: &'static str, value: Option<Value>) {
        if self.effective.origin(key).is_some() {
            self.always(key, value.unwrap_or_default());
        }
    }

    /// The items of a list that all members add to, each where it stands first.
    fn united(&mut self, key: &'static str, items: impl Iterator<Item = Value>) {
        for item in items {
            let text = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            let place = self.places.iter().find_map(|places| places.of_item(key, &text));
            self.push(key, item, place);
        }
    }

    fn at<T>(&mut self, key: &str, at: &At<T>, value: Value) {
        self.push(key, value, Some(at.place.clone()));
    }

    fn push(&mut self, key: &str, value: Value, place: Option<Place>) {
        self.rows.push(Explained { key: key.to_owned(), value, place });
    }
}

/// As a file writes it, with the default that holds.
fn egress(egress: &Egress) -> Value {
    let targets = |verdict| -> Vec<String> {
        let rules = egress.rules.iter().filter(|rule| rule.verdict == verdict);
        rules.map(|rule| rule.target.to_string()).collect()
    };
    json!({
        "default": egress.default, "allow": targets(Verdict::Allow), "deny": targets(Verdict::Deny),
    })
}

fn probe(probe: &Probe) -> Value {
    let (interval, timeout) = (probe.interval, probe.timeout);
    match &probe.check {
        Check::Tcp(port) => json!({ "type": "tcp", "port": port, "interval": interval, "timeout": timeout }),
        Check::Exec(command) => {
            json!({ "type": "exec", "command": command, "interval": interval, "timeout": timeout })
        }
    }
}
