use agent_sandbox::template;

use crate::Failure;
use crate::cli::template::ListArgs;
use crate::commands::Edge;
use crate::output::{Table, human};

/// The column that a narrow terminal cuts first.
const DESCRIPTION: usize = 6;

/// A row for each template that needs no network to be found.
pub(super) fn list(edge: &Edge, _: &ListArgs) -> Result<u8, Failure> {
    let listed = template::list(&edge.context)?;
    let mut table = Table::new(["NAME", "TAG", "KIND", "SIZE", "CREATED", "IMAGE", "DESCRIPTION"]);
    for template in &listed {
        table.row([
            template.name.clone(),
            template.tag.clone(),
            template.kind.to_owned(),
            template.size.map(human::size).unwrap_or_default(),
            template.created.map(human::day).unwrap_or_default(),
            short_image(template.image.as_deref().unwrap_or_default()),
            template.description.clone().unwrap_or_default(),
        ]);
    }
    edge.printer.table(&listed, &table.fitted(&[DESCRIPTION]))?;
    Ok(0)
}

/// As much of an id as tells images apart.
fn short_image(id: &str) -> String {
    id.strip_prefix("sha256:").unwrap_or(id).chars().take(12).collect()
}
