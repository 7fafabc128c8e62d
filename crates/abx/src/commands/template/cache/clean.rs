use agent_sandbox::template::cache::{self, CleanRequest, Cleaned, Kind};

use super::list::line;
use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::{CacheCleanArgs, KindArg};
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::output::human;
use crate::progress::{Detail, Reporter};

const MIB: u64 = 1 << 20;

/// Removes entries and says which, and what that has freed.
pub(super) async fn clean(edge: &Edge, args: &CacheCleanArgs) -> Result<u8, Failure> {
    let bytes = |size: crate::cli::values::Megabytes| size.0.saturating_mul(MIB);
    let request = CleanRequest {
        names: args.names.clone(),
        kind: args.kind.map(Kind::from),
        older_than: args.older_than.map(|age| age.0),
        larger_than: args.larger_than.map(bytes),
        keep_under: args.keep_under.map(bytes),
        all: args.all,
        dry_run: args.dry_run,
    };
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let cleaned = interruptible(&progress, cache::clean(&edge.context, &request, &progress)).await?;
    drop(progress);
    for entry in &cleaned.kept {
        let needed = entry.needed.as_deref().unwrap_or_default();
        edge.printer.warning(&format!("{} `{}` stays: {needed} needs it", entry.kind, entry.name));
    }
    edge.printer.result(&cleaned, &text(&cleaned))?;
    Ok(0)
}

fn text(cleaned: &Cleaned) -> String {
    let lines: String = cleaned.removed.iter().map(line).collect();
    let freed = human::bytes(cleaned.freed);
    match (cleaned.dry_run, cleaned.removed.is_empty()) {
        (_, true) => "nothing to remove\n".to_owned(),
        (true, false) => format!("{lines}would free {freed}\n"),
        (false, false) => format!("{lines}freed {freed}\n"),
    }
}

impl From<KindArg> for Kind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::Repository => Self::Repository,
            KindArg::Archive => Self::Archive,
            KindArg::Image => Self::Image,
            KindArg::Layer => Self::Layer,
            KindArg::Download => Self::Download,
            KindArg::Log => Self::Log,
            KindArg::Leftover => Self::Leftover,
        }
    }
}
