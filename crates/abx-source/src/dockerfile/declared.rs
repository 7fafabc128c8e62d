//! What a Dockerfile comes to for a sandbox.

use abx_image::Healthcheck as Check;
use abx_spec::{At, Clearable, Healthcheck, Place, Spec};
use serde::{Deserialize, Serialize};

use super::said::{Said, Spots};

/// Settings of a sandbox that a Dockerfile makes where the template.yaml beside it does not. Kept with the image, in
/// which the Dockerfile itself is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Declared {
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<Stated<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workdir: Option<Stated<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ports: Vec<Stated<u16>>,
    /// Without a value: none, also where the parent has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    startup: Option<Stated<Option<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    healthcheck: Option<Stated<Option<Health>>>,
}

/// Where something stands in the file, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spot {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stated<T> {
    value: T,
    #[serde(flatten)]
    spot: Spot,
}

/// Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Health {
    command: String,
    interval: u64,
    timeout: u64,
    retries: u32,
    #[serde(default)]
    start_period: u64,
}

impl Declared {
    pub(crate) fn new(said: &Said, spots: &Spots) -> Self {
        let stated = |value: &String, spot| Stated { value: value.clone(), spot };
        Self {
            user: said.user.as_ref().map(|user| stated(user, spots.user)),
            workdir: said.workdir.as_ref().map(|path| stated(path, spots.workdir)),
            ports: said.expose.iter().filter_map(|port| self::port(port, spots)).collect(),
            startup: startup(said).map(|value| Stated { value, spot: spots.startup }),
            healthcheck: said
                .healthcheck
                .as_ref()
                .map(|check| Stated { value: health(check), spot: spots.healthcheck }),
        }
    }

    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Fills in what a specification leaves open; `file` is the Dockerfile's name.
    pub(crate) fn lay_under(&self, spec: &mut Spec, file: &str) {
        let place = |spot: Spot| Place { file: file.to_owned(), line: spot.line, column: spot.column };
        let is_cleared = |spec: &Spec, what| spec.cleared.contains(&what);
        let sandbox = &mut spec.sandbox;
        sandbox.user = sandbox.user.take().or_else(|| self.user.as_ref().map(|user| user.value.clone()));
        let workdir = || self.workdir.as_ref().map(|path| path.value.clone());
        sandbox.workdir = sandbox.workdir.take().or_else(workdir);
        if spec.network.ports.is_empty() {
            let at = |port: &Stated<u16>| At { value: port.value, place: place(port.spot) };
            spec.network.ports = self.ports.iter().map(at).collect();
        }
        if let Some(startup) = &self.startup
            && spec.sandbox.startup_command.is_none()
            && !is_cleared(spec, Clearable::StartupCommand)
        {
            match &startup.value {
                Some(command) => {
                    let at = At { value: command.clone(), place: place(startup.spot) };
                    spec.sandbox.startup_command = Some(at);
                }
                None => spec.cleared.push(Clearable::StartupCommand),
            }
        }
        if let Some(check) = &self.healthcheck
            && spec.healthcheck.is_none()
            && !is_cleared(spec, Clearable::Healthcheck)
        {
            match &check.value {
                Some(health) => spec.healthcheck = Some(health.spec(place(check.spot))),
                None => spec.cleared.push(Clearable::Healthcheck),
            }
        }
    }

    /// Where the Dockerfile, called `file`, makes a setting, by the key a template.yaml would have; a port by its
    /// number.
    pub(crate) fn place(&self, key: &str, item: Option<u64>, file: &str) -> Option<Place> {
        let spot = match key {
            "sandbox.user" => self.user.as_ref()?.spot,
            "sandbox.workdir" => self.workdir.as_ref()?.spot,
            "sandbox.startup_command" => self.startup.as_ref()?.spot,
            "healthcheck" => self.healthcheck.as_ref()?.spot,
            "network.ports" => self.ports.iter().find(|port| Some(u64::from(port.value)) == item)?.spot,
            _ => return None,
        };
        Some(Place { file: file.to_owned(), line: spot.line, column: spot.column })
    }
}

impl Health {
    fn spec(&self, place: Place) -> Healthcheck {
        let seconds = |nanoseconds: u64| std::time::Duration::from_nanos(nanoseconds).as_secs_f64();
        Healthcheck {
            command: At { value: self.command.clone(), place },
            interval: seconds(self.interval),
            timeout: seconds(self.timeout),
            retries: self.retries,
            start_period: seconds(self.start_period),
        }
    }
}

/// Sandboxes have ports of TCP alone.
fn port(text: &str, spots: &Spots) -> Option<Stated<u16>> {
    let value = text.strip_suffix("/tcp")?.parse().ok()?;
    let spot = spots.ports.iter().find(|(known, _)| known == text).map(|(_, spot)| *spot);
    Some(Stated { value, spot: spot.unwrap_or_default() })
}

/// `ENTRYPOINT` with `CMD` behind it, as one line for a shell; nothing in it where both are taken back.
fn startup(said: &Said) -> Option<Option<String>> {
    if said.cmd.is_none() && said.entrypoint.is_none() {
        return None;
    }
    let argv: Vec<&str> =
        [&said.entrypoint, &said.cmd].into_iter().flatten().flatten().map(String::as_str).collect();
    Some((!argv.is_empty()).then(|| line(&argv)))
}

fn line(argv: &[&str]) -> String {
    match argv {
        ["/bin/sh", "-c", line] => (*line).to_owned(),
        argv => argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

/// A word that a shell reads as it is.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "%+,-./:=@_".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The runtime's own defaults, which are docker's: every 30 seconds, within 30 seconds, three times.
fn health(check: &Check) -> Option<Health> {
    const HALF_MINUTE: u64 = 30_000_000_000;
    let words: Vec<&str> = check.test.iter().map(String::as_str).collect();
    let command = match words.as_slice() {
        ["CMD-SHELL", line] => (*line).to_owned(),
        ["CMD", argv @ ..] if !argv.is_empty() => line(argv),
        _ => return None,
    };
    let or = |value: u64, default| if value == 0 { default } else { value };
    let retries = u32::try_from(or(check.retries, 3)).unwrap_or(u32::MAX);
    let (interval, timeout) = (or(check.interval, HALF_MINUTE), or(check.timeout, HALF_MINUTE));
    Some(Health { command, interval, timeout, retries, start_period: check.start_period })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Option<Vec<String>> {
        Some(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn a_command_becomes_a_line_for_a_shell() {
        let rows = [
            (None, None, None),
            (None, words(&["python", "main.py"]), Some(Some("python main.py"))),
            (None, words(&["/bin/sh", "-c", "a && b"]), Some(Some("a && b"))),
            (None, words(&["/bin/bash", "-c", "a && b"]), Some(Some("/bin/bash -c 'a && b'"))),
            (words(&["run"]), words(&["it's", ""]), Some(Some(r"run 'it'\''s' ''"))),
            (words(&["run"]), None, Some(Some("run"))),
            (None, words(&[]), Some(None)),
            (words(&[]), words(&["x"]), Some(Some("x"))),
        ];
        for (entrypoint, cmd, expected) in rows {
            let said = Said { entrypoint, cmd, ..Said::default() };
            assert_eq!(startup(&said), expected.map(|line| line.map(str::to_owned)), "{said:?}");
        }
    }

    #[test]
    fn what_a_template_says_itself_stays() {
        let said = Said {
            cmd: words(&["serve"]),
            expose: vec!["80/tcp".into(), "53/udp".into(), "443/tcp".into()],
            workdir: Some("/srv".into()),
            user: Some("www".into()),
            healthcheck: Some(Check { test: vec!["CMD-SHELL".into(), "true".into()], ..Check::default() }),
            ..Said::default()
        };
        let declared = Declared::new(&said, &Spots::default());
        let mut spec = Spec::default();
        declared.lay_under(&mut spec, "Dockerfile");
        let ports = |spec: &Spec| spec.network.ports.iter().map(|port| port.value).collect::<Vec<_>>();
        assert_eq!((ports(&spec), spec.sandbox.user.as_deref()), (vec![80, 443], Some("www")));
        let check = spec.healthcheck.expect("a check");
        assert_eq!((check.interval, check.timeout, check.retries), (30.0, 30.0, 3));
        assert_eq!(spec.sandbox.startup_command.expect("a command").value, "serve");

        let at = |value| At { value, place: Place::start_of("template.yaml") };
        let mut spec = Spec { cleared: vec![Clearable::StartupCommand], ..Spec::default() };
        spec.network.ports.push(at(8080));
        spec.sandbox.workdir = Some("/own".into());
        declared.lay_under(&mut spec, "Dockerfile");
        assert_eq!((ports(&spec), spec.sandbox.workdir.as_deref()), (vec![8080], Some("/own")));
        assert_eq!(spec.sandbox.startup_command, None);
    }
}
