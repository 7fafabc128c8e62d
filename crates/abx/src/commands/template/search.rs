use agent_sandbox::template::{self, SearchRequest};

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::SearchArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::output::Table;
use crate::progress::{Detail, Reporter};
use crate::report::plain;

/// A row for each template with all the words, best first. That there is none is no failure.
pub(super) async fn search(edge: &Edge, args: &SearchArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    // A quoted argument may hold several words.
    let words = args.words.iter().flat_map(|words| words.split_whitespace());
    let request = SearchRequest {
        words: words.map(str::to_owned).collect(),
        category: args.category.clone(),
        tag: args.tag.clone(),
        status: args.status.clone(),
        index: args.index.options(args.offline),
    };
    let searched = interruptible(&progress, template::search(&edge.context, &request, &progress)).await?;
    drop(progress);
    if searched.found.is_empty() {
        let meant: Vec<String> = searched.meant.iter().map(|word| format!("`{}`", plain(word))).collect();
        edge.printer.note(&match meant.as_slice() {
            [] => "no template has all of that".to_owned(),
            meant => format!("no template has all of that; did you mean {}?", meant.join(", ")),
        });
        if !edge.printer.json() {
            return Ok(0);
        }
    }
    let mut table = Table::new(["NAME", "STATUS", "DESCRIPTION", "TAGS", "SOURCE"]);
    for template in &searched.found {
        table.row([
            template.name.clone(),
            template.status.unwrap_or_default().to_owned(),
            template.description.clone().unwrap_or_default(),
            template.tags.join(", "),
            template.origin().to_owned(),
        ]);
    }
    edge.printer.table(&searched.found, &table.fitted(&[3, 4, 2]))?;
    Ok(0)
}
