//! How a template's defaults and a caller's overrides become one.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use abx_build::Built;
use abx_core::Egress;
use abx_engine::SandboxSettings;
use abx_engine::settings::{HealthCheck, PortRequest, Readiness, ReadinessCheck};
use abx_spec::limits;

use crate::{Context, CreateRequest, Error};

/// Settles what a sandbox starts with: a caller's wish goes before the template, the template before the defaults.
pub(crate) fn settle(
    context: &Context,
    built: &Built,
    request: &CreateRequest,
) -> Result<SandboxSettings, Error> {
    let effective = &built.effective;
    let bounds = context.settings.limits.bounds();
    let store = context.store();
    let layers: Vec<PathBuf> = built.image.layers.iter().map(|layer| store.layer_path(layer)).collect();
    let abx_build::Surroundings { mut env, binds, files, loopback } =
        abx_build::surroundings(layers.clone(), built.image.config.env.clone(), &context.host)
            .map_err(|source| Error::LayerUnreadable { source })?;
    for (name, value) in &request.env {
        match env.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => old.clone_from(value),
            None => env.push((name.clone(), value.clone())),
        }
    }
    Ok(SandboxSettings {
        name: request.name.clone(),
        template: shown(&effective.metadata, &request.reference),
        layers,
        image: built.image.id.0.clone(),
        env,
        user: effective.user.clone(),
        workdir: effective.workdir.clone(),
        // Empty: the daemon inside takes bash where there is one.
        shell: effective.shell.clone().unwrap_or_default(),
        persistent: effective.mode == abx_spec::Mode::Persistent,
        cpu: within("cpu", request.cpu, effective.cpu, bounds.cpu)?,
        memory: within("memory", request.memory, effective.memory, bounds.memory)?,
        disk: within("disk", request.disk, effective.disk, bounds.disk)?,
        pids: effective.pids,
        timeout: within("timeout", request.timeout, effective.timeout, or_never(&bounds.timeout))?,
        idle_timeout: within(
            "idle-timeout",
            request.idle_timeout,
            effective.idle_timeout,
            or_never(&bounds.timeout),
        )?,
        pause_on_timeout: request.pause_on_timeout,
        unhealthy_timeout: context.settings.unhealthy_timeout,
        ports: ports(&effective.ports, &request.ports)?,
        public: effective.public,
        network: request.network.unwrap_or(true),
        egress: egress(effective.egress.as_ref(), request)?,
        capabilities: request.capabilities.clone().unwrap_or_else(|| effective.capabilities.clone()),
        capability_origin: capability_origin(effective, request),
        startup_command: effective.startup_command.as_ref().map(|command| command.value.clone()),
        readiness: effective.readiness_probe.as_ref().map(|probe| Readiness {
            check: match &probe.value.check {
                abx_spec::Check::Tcp(port) => ReadinessCheck::Tcp(*port),
                abx_spec::Check::Exec(command) => ReadinessCheck::Exec(command.clone()),
            },
            interval: probe.value.interval,
            timeout: probe.value.timeout,
        }),
        healthcheck: effective.healthcheck.as_ref().map(|check| HealthCheck {
            command: check.command.value.clone(),
            interval: check.interval,
            timeout: check.timeout,
            retries: check.retries,
            start_period: check.start_period,
        }),
        binds,
        files,
        loopback,
    })
}

/// What states the capabilities, in words: an option, a line of a file, or nothing.
fn capability_origin(effective: &abx_spec::Effective, request: &CreateRequest) -> Option<String> {
    if request.capabilities.is_some() {
        return Some("--capabilities".to_owned());
    }
    let place = effective.capabilities_place.as_ref()?;
    Some(format!("{}:{}:{}", place.file, place.line, place.column))
}

/// A template by name and version; an image run directly has neither, and is what the caller called it.
fn shown(metadata: &abx_spec::Metadata, reference: &str) -> String {
    match metadata.name.as_str() {
        "" => reference.to_owned(),
        name => format!("{name}:{}", metadata.version),
    }
}

/// The caller's ports, and the template's own on any free host port where the caller has not mapped them.
fn ports(template: &[u16], asked: &[PortRequest]) -> Result<Vec<PortRequest>, Error> {
    let mut ports: Vec<PortRequest> = Vec::new();
    for port in asked {
        if let Some(host) = port.host.filter(|host| ports.iter().any(|other| other.host == Some(*host))) {
            return Err(Error::PortTwice { port: host });
        }
        ports.push(*port);
    }
    for guest in template {
        if !asked.iter().any(|port| port.guest == *guest) {
            ports.push(PortRequest { host: None, guest: *guest });
        }
    }
    Ok(ports)
}

/// The caller's rules go before the template's. The default is the template's, where it has a policy.
fn egress(template: Option<&Egress>, request: &CreateRequest) -> Result<Option<Egress>, Error> {
    if request.allow_out.is_empty() && request.deny_out.is_empty() {
        return Ok(template.cloned());
    }
    let caller = Egress::of_lists(&request.allow_out, &request.deny_out, None);
    let both = match template {
        Some(template) => template.clone().after(caller),
        None => caller,
    };
    bounded(
        "rules for egress, the template's included:".to_owned(),
        both.rules.len(),
        0..=Egress::MOST_RULES,
    )?;
    Ok(Some(both))
}

/// Whether what the caller asks for is within bounds, before anything is fetched or built for it.
pub(crate) fn check(context: &Context, request: &CreateRequest) -> Result<(), Error> {
    let bounds = context.settings.limits.bounds();
    let timeout = or_never(&bounds.timeout);
    request.cpu.map(|cpu| asked("cpu", cpu, bounds.cpu)).transpose()?;
    request.memory.map(|memory| asked("memory", memory, bounds.memory)).transpose()?;
    request.disk.map(|disk| asked("disk", disk, bounds.disk)).transpose()?;
    request.timeout.map(|seconds| asked("timeout", seconds, timeout.clone())).transpose()?;
    request.idle_timeout.map(|seconds| asked("idle-timeout", seconds, timeout)).transpose()?;
    ports(&[], &request.ports)?;
    egress(None, request)?;
    match request.capabilities.iter().flatten().find(|word| !limits::is_capability(word)) {
        Some(word) => Err(Error::UnknownCapability { word: word.clone() }),
        None => Ok(()),
    }
}

/// Seconds; a caller may say 0 for never, unless the operator has shortened the longest life.
fn or_never(timeout: &RangeInclusive<u64>) -> RangeInclusive<u64> {
    let (low, high) = (*timeout.start(), *timeout.end());
    if high < *limits::TIMEOUT.end() { low..=high } else { 0..=high }
}

/// The caller's value, else the template's own.
fn within<T: PartialOrd + Display>(
    what: &str,
    caller: Option<T>,
    own: T,
    bounds: RangeInclusive<T>,
) -> Result<T, Error> {
    match caller {
        Some(value) => asked(what, value, bounds),
        None => bounded(format!("the template's {what} of"), own, bounds),
    }
}

fn asked<T: PartialOrd + Display>(what: &str, value: T, bounds: RangeInclusive<T>) -> Result<T, Error> {
    bounded(format!("--{what}"), value, bounds)
}

fn bounded<T: PartialOrd + Display>(what: String, value: T, bounds: RangeInclusive<T>) -> Result<T, Error> {
    if bounds.contains(&value) {
        return Ok(value);
    }
    let (low, high) = (bounds.start().to_string(), bounds.end().to_string());
    Err(Error::OutOfBounds { what, value: value.to_string(), low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_mapping_replaces_the_templates_for_that_port() {
        let asked = [PortRequest { host: Some(9000), guest: 80 }];
        let all = ports(&[80, 443], &asked).expect("no clash");
        assert_eq!(all, [asked[0], PortRequest { host: None, guest: 443 }]);
    }

    #[test]
    fn a_callers_rules_for_egress_go_before_the_templates() {
        let targets = |words: &[&str]| -> Vec<abx_core::egress::Target> {
            words.iter().map(|word| word.parse().expect("target")).collect()
        };
        let request = |allow: &[&str], deny: &[&str]| CreateRequest {
            allow_out: targets(allow),
            deny_out: targets(deny),
            ..CreateRequest::default()
        };
        let written = |template: Option<&Egress>, request: &CreateRequest| {
            let policy = egress(template, request).expect("a policy");
            policy.map(|policy| serde_json::to_string(&policy).expect("json"))
        };
        let template = Egress::of_lists(&targets(&["a.example"]), &[], None);
        assert_eq!(written(None, &request(&[], &[])), None);
        assert_eq!(
            written(Some(&template), &request(&[], &[])).as_deref(),
            Some(r#"{"rules":["allow a.example"],"default":"deny"}"#)
        );
        assert_eq!(
            written(Some(&template), &request(&["b.example"], &["a.example"])).as_deref(),
            Some(r#"{"rules":["allow b.example","deny a.example","allow a.example"],"default":"deny"}"#)
        );
        assert_eq!(
            written(None, &request(&["b.example"], &[])).as_deref(),
            Some(r#"{"rules":["allow b.example"],"default":"deny"}"#)
        );
        let many: Vec<String> = (0..300).map(|number| format!("n{number}.example")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(egress(None, &request(&many, &[])).is_err());
    }

    #[test]
    fn who_is_out_of_bounds_is_named_and_never_is_for_the_operator_to_rule_out() {
        let text = |result: Result<u64, Error>| result.map_err(|error| error.to_string());
        assert_eq!(within("memory", None, 100, 64..=512).expect("within"), 100);
        assert_eq!(
            text(within("memory", Some(1024), 100, 64..=512)),
            Err("--memory 1024 is outside 64 to 512".into())
        );
        assert_eq!(
            text(within("memory", None, 1024, 64..=512)),
            Err("the template's memory of 1024 is outside 64 to 512".into())
        );
        assert!(or_never(&limits::TIMEOUT).contains(&0));
        assert!(!or_never(&(1..=3600)).contains(&0));
    }

    #[test]
    fn a_host_port_is_one_ports_only() {
        let port = |host, guest| PortRequest { host, guest };
        assert!(ports(&[], &[port(None, 80), port(None, 80)]).is_ok());
        let error = ports(&[], &[port(Some(9000), 80), port(Some(9000), 81)]).expect_err("a clash");
        assert_eq!(error.to_string(), "host port 9000 is asked for twice");
    }
}
