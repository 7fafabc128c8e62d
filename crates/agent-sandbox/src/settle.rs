//! How a template's defaults and a caller's overrides become one.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use abx_build::Built;
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
        cpu: bounded("cpu", request.cpu.unwrap_or(effective.cpu), limits::CPU)?,
        memory: bounded("memory", request.memory.unwrap_or(effective.memory), limits::MEMORY)?,
        disk: bounded("disk", request.disk.unwrap_or(effective.disk), limits::DISK)?,
        pids: effective.pids,
        timeout: bounded("timeout", request.timeout.unwrap_or(effective.timeout), OR_NEVER)?,
        idle_timeout: bounded(
            "idle-timeout",
            request.idle_timeout.unwrap_or(effective.idle_timeout),
            OR_NEVER,
        )?,
        ports: ports(&effective.ports, &request.ports)?,
        public: effective.public,
        network: request.network.unwrap_or(true),
        capabilities: effective.capabilities.clone(),
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
        }),
        binds,
        files,
        loopback,
    })
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

/// Seconds; a caller may say 0 for never.
const OR_NEVER: RangeInclusive<u64> = 0..=*limits::TIMEOUT.end();

fn bounded<T: PartialOrd + Display>(
    what: &'static str,
    value: T,
    bounds: RangeInclusive<T>,
) -> Result<T, Error> {
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
    fn a_host_port_is_one_ports_only() {
        let port = |host, guest| PortRequest { host, guest };
        assert!(ports(&[], &[port(None, 80), port(None, 80)]).is_ok());
        let error = ports(&[], &[port(Some(9000), 80), port(Some(9000), 81)]).expect_err("a clash");
        assert_eq!(error.to_string(), "host port 9000 is asked for twice");
    }
}
