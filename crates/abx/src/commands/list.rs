use agent_sandbox::sandbox::{Info, Status};

use super::Edge;
use crate::Failure;
use crate::cli::ListArgs;
use crate::output::{Table, human};

/// A row for each sandbox, newest first.
pub(super) fn list(edge: &Edge, args: &ListArgs) -> Result<u8, Failure> {
    let infos = agent_sandbox::list(&edge.context, args.all)?;
    let now = super::now();
    let mut table = Table::new(["ID", "NAME", "TEMPLATE", "STATUS", "CREATED", "ENDS", "PORTS"]);
    for info in &infos {
        table.row([
            info.id.clone(),
            info.name.clone().unwrap_or_default(),
            info.template.clone(),
            status(info),
            format!("{} ago", human::age(now.saturating_sub(info.created))),
            ends(info, now),
            ports(info),
        ]);
    }
    edge.printer.table(&infos, &table)?;
    Ok(0)
}

/// `running`, `running, unhealthy`, `stopped: monitor lost`, `ended: timeout`.
pub(super) fn status(info: &Info) -> String {
    use agent_sandbox::sandbox::Health;
    let status = match info.status {
        Status::Starting => "starting",
        Status::Running => "running",
        Status::Paused => "paused",
        Status::Stopped => "stopped",
        Status::Pooled => "pooled",
        Status::Ended => "ended",
    };
    match (info.reason, info.live.as_ref().map(|live| live.health)) {
        // It says no more than the status.
        (Some(reason), _) if reason.as_str() == status => status.to_owned(),
        (Some(reason), _) => format!("{status}: {}", reason.as_str()),
        (None, Some(Health::Unhealthy)) => format!("{status}, unhealthy"),
        _ => status.to_owned(),
    }
}

/// `in 9m`, `2m ago`, `never`; nothing while the clock stands still.
pub(super) fn ends(info: &Info, now: u64) -> String {
    match info.ends {
        None if info.status == Status::Running => "never".to_owned(),
        None => String::new(),
        Some(end) if end >= now && info.live.is_some() => format!("in {}", human::age(end - now)),
        Some(end) => format!("{} ago", human::age(now.saturating_sub(end))),
    }
}

/// `127.0.0.1:41234->8000`, with commas between.
pub(super) fn ports(info: &Info) -> String {
    let ports = info.live.iter().flat_map(|live| &live.ports);
    ports.map(|port| format!("{}->{}", port.host, port.guest)).collect::<Vec<_>>().join(", ")
}
