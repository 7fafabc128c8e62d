use agent_sandbox::template::cache::{self, Verified, VerifyRequest};

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::CacheVerifyArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};
use crate::report::plain;

/// Names what is damaged. Status 1 where something stays so.
pub(super) async fn verify(edge: &Edge, args: &CacheVerifyArgs) -> Result<u8, Failure> {
    let request = VerifyRequest { deep: args.deep, repair: args.repair };
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let verified = interruptible(&progress, cache::verify(&edge.context, request, &progress)).await?;
    drop(progress);
    edge.printer.result(&verified, &text(&verified, args))?;
    Ok(u8::from(verified.damaged.iter().any(|damaged| !damaged.repaired)))
}

fn text(verified: &Verified, args: &CacheVerifyArgs) -> String {
    let mut text = String::new();
    for damaged in &verified.damaged {
        let what = plain(&format!("{} {}: {}", damaged.kind, damaged.name, damaged.reason));
        let repaired = if damaged.repaired { " (removed)" } else { "" };
        text += &format!("{what}{repaired}\n");
    }
    let count = |count: usize| match count {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    text += &match verified.damaged.len() {
        0 => format!("{} verified, none is damaged\n", count(verified.checked)),
        damaged => format!("{} verified, {damaged} damaged\n", count(verified.checked)),
    };
    if verified.unmeasured > 0 {
        let unmeasured = count(verified.unmeasured);
        text += &format!("{unmeasured} had nothing to compare with until now\n");
    }
    if !args.repair && !verified.damaged.is_empty() {
        text += "`abx template cache verify --repair` removes it, so that it is made again\n";
    }
    text
}
