use agent_sandbox::sandbox::{Info, LiveInfo};

use super::{Edge, list};
use crate::Failure;
use crate::cli::InfoArgs;
use crate::output::{Table, human};

/// All there is to know of one sandbox, a fact a line.
pub(super) fn info(edge: &Edge, args: &InfoArgs) -> Result<u8, Failure> {
    let info = agent_sandbox::find(&edge.context, &args.id)?.info();
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
    field("created", format!("{} ago", human::age(now.saturating_sub(info.created))));
    field("ends", list::ends(info, now));
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
    field("capabilities", live.capabilities.join(", "));
}

fn limit(seconds: u64) -> String {
    if seconds == 0 { "never".to_owned() } else { format!("{seconds}s") }
}
