//! Which ports of the sandbox the host reaches, and where.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use abx_core::Fault;
use abx_isolate::{PortForward, Running};

use crate::control::Answer;
use crate::{PortMapping, PortRequest, Record, SandboxSettings};

/// Where the host listens for a port.
pub(super) fn listen(settings: &SandboxSettings, port: &PortRequest) -> PortForward {
    let address = IpAddr::V4(if settings.public { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST });
    PortForward { listen: SocketAddr::new(address, port.host.unwrap_or(0)), guest: port.guest }
}

/// Those that were asked for at the start, with the ports they really have.
pub(super) fn mappings(running: &Running) -> Vec<PortMapping> {
    running.ports().into_iter().map(mapping).collect()
}

/// Forwards one more. One that is forwarded already, and on any port or that very one, stays as it is.
pub(super) fn forward(
    dir: &Path,
    running: &Running,
    record: &mut Record,
    port: PortRequest,
) -> Result<Answer, String> {
    let is_it = |known: &&PortMapping| {
        known.guest == port.guest && port.host.is_none_or(|host| host == known.host.port())
    };
    if let Some(known) = record.ports.iter().find(is_it) {
        return Ok(Answer::Port(known.clone()));
    }
    let bound = running.forward(listen(&record.settings, &port)).map_err(|error| describe(&error))?;
    record.ports.push(mapping(bound));
    record.write(dir).map_err(|error| error.to_string())?;
    Ok(Answer::Port(mapping(bound)))
}

fn mapping(port: PortForward) -> PortMapping {
    PortMapping { guest: port.guest, host: port.listen }
}

fn describe(error: &dyn Fault) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
