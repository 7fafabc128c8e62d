use agent_sandbox::template::{self, Matched};

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::MatchArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::output::Table;
use crate::progress::{Detail, Reporter};

/// A row for each template that may be for the task, best first, with the reasons.
pub(super) async fn matching(edge: &Edge, args: &MatchArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let sentence = args.sentence.join(" ");
    let index = args.index.options(args.offline);
    let work = template::matching(&edge.context, &sentence, &index, &progress);
    let matched = interruptible(&progress, work).await?;
    drop(progress);
    if matched.is_empty() {
        edge.printer.note("no template has a word of that; `abx template search` lists all");
        if !edge.printer.json() {
            return Ok(0);
        }
    }
    let mut table = Table::new(["NAME", "SCORE", "WHY", "DESCRIPTION", "SOURCE"]);
    for one in &matched {
        table.row([
            one.template.name.clone(),
            one.score.to_string(),
            why(one),
            one.template.description.clone().unwrap_or_default(),
            one.template.origin().to_owned(),
        ]);
    }
    edge.printer.table(&matched, &table.fitted(&[4, 3, 2]))?;
    Ok(0)
}

/// `triggers: analyze data, csv; tags: python`.
fn why(matched: &Matched) -> String {
    let reasons = [
        ("triggers", &matched.triggers),
        ("tags", &matched.matched_tags),
        ("name", &matched.name_words),
        ("description", &matched.description_words),
    ];
    let given = reasons.into_iter().filter(|(_, words)| !words.is_empty());
    given.map(|(what, words)| format!("{what}: {}", words.join(", "))).collect::<Vec<_>>().join("; ")
}
