use abx_core::Egress;
use agent_sandbox::sandbox::{EndReason, Health, Info, LiveInfo, Status};

use super::{Edge, list};
use crate::Failure;
use crate::cli::InfoArgs;
use crate::output::{Table, human};

/// All there is to know of one sandbox, a fact a line.
pub(super) fn info(edge: &Edge, args: &InfoArgs) -> Result<u8, Failure> {
    let info = agent_sandbox::sandbox::info(&edge.context, &args.id)?;
    edge.printer.table(&info, &fields(&info, super::now()))?;
    Ok(0)
}

fn fields(info: &Info, now: u64) -> Table {
    let mut table = Table::of_fields();
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            table.row([name.to_owned(), value]);
        }
    };
    field("id", info.id.clone());
    field("name", info.name.clone().unwrap_or_default());
    field("template", info.template.clone());
    field("status", list::status(info));
    field("limit", hit(info).unwrap_or_default());
    field("detail", info.detail.clone().unwrap_or_default());
    field("created", format!("{} ago", human::age(now.saturating_sub(info.created))));
    field(if info.status == Status::Ended { "ended" } else { "ends" }, list::ends(info, now));
    if let Some(live) = &info.live {
        live_fields(live, &mut field);
    }
    field("ports", list::ports(info));
    table
}

fn live_fields(live: &LiveInfo, field: &mut impl FnMut(&str, String)) {
    field("image", live.image.clone());
    field("user", live.user.clone());
    field("workdir", live.workdir.clone());
    field("shell", live.shell.clone());
    field("mode", live.mode.clone());
    field("cpu", live.cpu.to_string());
    field("memory", human::megabytes(live.memory));
    field("disk", human::megabytes(live.disk));
    field("pids", live.pids.to_string());
    field("timeout", limit(live.timeout));
    field("idle timeout", limit(live.idle_timeout));
    field("network", if live.network { "default" } else { "none" }.to_owned());
    field("egress", live.egress.as_ref().map(egress).unwrap_or_default());
    field("capabilities", live.capabilities.join(", "));
    field("health", health(live.health).to_owned());
}

/// Nothing where there is no health check.
fn health(health: Health) -> &'static str {
    match health {
        Health::None => "",
        Health::Starting => "starting",
        Health::Healthy => "healthy",
        Health::Unhealthy => "unhealthy",
    }
}

/// The number that was hit, with its unit.
fn hit(info: &Info) -> Option<String> {
    let limit = info.limit?;
    Some(match info.reason? {
        EndReason::Memory | EndReason::Disk => human::megabytes(limit),
        EndReason::Unhealthy => format!("{limit} failed checks"),
        _ => format!("{limit}s"),
    })
}

/// The rules in their order, then what holds for the rest; of many the first.
fn egress(egress: &Egress) -> String {
    const SHOWN: usize = 6;
    let mut parts: Vec<String> = egress.rules.iter().take(SHOWN).map(ToString::to_string).collect();
    if egress.rules.len() > SHOWN {
        parts.push(format!("{} more rules", egress.rules.len() - SHOWN));
    }
    parts.push(format!("else {}", egress.default));
    parts.join(", ")
}

fn limit(seconds: u64) -> String {
    if seconds == 0 { "never".to_owned() } else { format!("{seconds}s") }
}
