use agent_sandbox::doctor::Report;

use super::Edge;
use crate::Failure;
use crate::cli::DoctorArgs;
use crate::output::Table;

/// What the host lacks and what crashed runs have left. Status 1 where something is lacking.
pub(super) fn doctor(edge: &Edge, args: &DoctorArgs) -> Result<u8, Failure> {
    let report = agent_sandbox::doctor::doctor(&edge.context, args.clean)?;
    edge.printer.result(&report, &text(&report))?;
    let lacks = report.checks.iter().any(|check| !check.ok);
    Ok(u8::from(lacks))
}

fn text(report: &Report) -> String {
    let mut table = Table::new(["", "FEATURE", "FOUND"]);
    for check in &report.checks {
        let mark = if check.ok { "ok" } else { "lacks" };
        table.row([mark.to_owned(), check.feature.clone(), check.detail.clone()]);
    }
    let mut text = table.to_string();
    for check in &report.checks {
        if let Some(fix) = &check.fix {
            text.push_str(&format!("\n{}: {fix}", check.feature));
        }
    }
    text.push('\n');
    text.push_str(&leftovers(report));
    text
}

fn leftovers(report: &Report) -> String {
    if report.leftovers.is_empty() {
        return "nothing is left of crashed runs\n".to_owned();
    }
    let title =
        if report.cleaned { "removed:" } else { "left by crashed runs (`abx doctor --clean` removes it):" };
    let lines: Vec<String> =
        report.leftovers.iter().map(|left| format!("  {}\n", crate::report::plain(left))).collect();
    format!("{title}\n{}", lines.concat())
}
