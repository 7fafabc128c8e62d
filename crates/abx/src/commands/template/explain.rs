use agent_sandbox::CreateRequest;
use agent_sandbox::template::{self, Explanation};
use serde_json::Value;

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::ExplainArgs;
use crate::commands::Edge;
use crate::commands::create::overridden;
use crate::commands::interrupt::interruptible;
use crate::output::Table;
use crate::progress::{Detail, Reporter};

/// A row for each value.
pub(super) async fn explain(edge: &Edge, args: &ExplainArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let request =
        CreateRequest { fetch: (&args.fetch).into(), ..overridden(args.reference.clone(), &args.overrides) };
    let work = template::explain(&edge.context, &request, &progress);
    let rows = interruptible(&progress, work).await?;
    drop(progress);
    let mut table = Table::new(["KEY", "VALUE", "FROM"]);
    for row in &rows {
        table.row([row.key.clone(), shown(row), row.origin.to_string()]);
    }
    edge.printer.table(&rows, &table)?;
    Ok(0)
}

/// A value in one line: text as it is, of several lines the first.
fn shown(row: &Explanation) -> String {
    match &row.value {
        Value::String(text) => match text.trim_end().split_once('\n') {
            Some((first, _)) => format!("{first} …"),
            None => text.trim_end().to_owned(),
        },
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        value => value.to_string(),
    }
}
