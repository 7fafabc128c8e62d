use std::fmt::Write as _;

use agent_sandbox::template::info::{Info, Version, VersionKind, Versions};

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::InfoArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::output::{Table, human};
use crate::progress::{Detail, Reporter};
use crate::report::plain;

/// So many lines of instructions are shown unless all are asked for.
const LINES: usize = 3;

/// Says what a template is, in paragraphs.
pub(super) async fn info(edge: &Edge, args: &InfoArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let options = (&args.fetch).into();
    let work = agent_sandbox::template::info(&edge.context, &args.reference, &options, &progress);
    let info = interruptible(&progress, work).await?;
    drop(progress);
    let mut text = facts(&info);
    versions(&mut text, &info.versions);
    agent(&mut text, &info, args.full);
    edge.printer.result(&info, &text)?;
    Ok(0)
}

/// A fact a line.
fn facts(info: &Info) -> String {
    let mut text = String::new();
    let mut fact = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let _ = writeln!(text, "{name}: {}", plain(value));
        }
    };
    let template = &info.template;
    fact("Template", Some(&template.name));
    fact("Description", template.description.as_deref());
    fact("Version", template.version.as_deref());
    fact("Kind", Some(info.resolved.kind));
    fact("Reference", Some(&info.resolved.canonical));
    fact("Author", template.author.as_deref());
    fact("License", template.license.as_deref());
    fact("Homepage", template.homepage.as_deref());
    fact("Category", template.category.as_deref());
    fact("Tags", Some(&template.tags.join(", ")));
    fact("Base", Some(&info.base.join(" < ")));
    fact("Resources", Some(&resources(info)));
    let ports: Vec<String> = info.sandbox.ports.iter().map(ToString::to_string).collect();
    fact("Ports", Some(&ports.join(", ")));
    fact("Capabilities", Some(&info.sandbox.capabilities.join(", ")));
    let size = info.size.map_or_else(|| "not built here".to_owned(), human::size);
    fact("Size", Some(&size));
    text
}

fn resources(info: &Info) -> String {
    let resources = &info.resources;
    let (memory, disk) = (human::megabytes(resources.memory), human::megabytes(resources.disk));
    let gpu = resources.gpu.as_ref().map_or_else(String::new, |gpu| format!(", GPU {gpu}"));
    let (timeout, idle) = (human::age(resources.timeout), human::age(resources.idle_timeout));
    format!("cpu {}, memory {memory}, disk {disk}{gpu}, timeout {timeout}, idle {idle}", resources.cpu)
}

/// The table of the versions, indented.
fn versions(text: &mut String, versions: &Versions) {
    if versions.rows.is_empty() {
        return;
    }
    let is_known = |known: fn(&Version) -> bool| versions.rows.iter().any(known);
    let (has_dates, has_sizes) = (is_known(|row| row.date.is_some()), is_known(|row| row.size.is_some()));
    let mut header = vec!["TAG".to_owned()];
    header.extend(has_dates.then(|| "DATE".to_owned()));
    header.extend(has_sizes.then(|| "SIZE".to_owned()));
    header.extend(versions.columns.iter().map(|column| column.to_uppercase()));
    // What stands in it speaks for itself.
    header.push(String::new());
    let mut table = Table::of_columns(header);
    for row in &versions.rows {
        let mut cells = vec![row.tag.clone()];
        cells.extend(has_dates.then(|| row.date.clone().unwrap_or_default()));
        cells.extend(has_sizes.then(|| row.size.map(human::size).unwrap_or_default()));
        let packages = (0..versions.columns.len()).map(|column| row.packages.get(column).cloned());
        cells.extend(packages.map(Option::unwrap_or_default));
        cells.push(remark(row).to_owned());
        table.cells(cells);
    }
    text.push_str("\nVersions:\n");
    indent(text, &table.to_string());
}

fn remark(version: &Version) -> &'static str {
    match (version.is_latest, version.kind) {
        (true, _) => "latest",
        (false, VersionKind::Local) => "local",
        (false, _) => "",
    }
}

/// What an agent, or who writes one, wants to know.
fn agent(text: &mut String, info: &Info, full: bool) {
    let agent = &info.agent;
    let mut paragraph = String::new();
    if let Some(description) = agent.description.as_deref().filter(|text| !text.is_empty()) {
        let _ = writeln!(paragraph, "For agents: {}", plain(description.trim()));
    }
    if !agent.triggers.is_empty() {
        let _ = writeln!(paragraph, "Triggers: {}", plain(&agent.triggers.join(", ")));
    }
    if let Some(instructions) = agent.instructions.as_deref().filter(|text| !text.trim().is_empty()) {
        paragraph.push_str("Instructions:\n");
        excerpt(&mut paragraph, instructions, full);
    }
    if let Some(agents) = &info.papers.agents_md {
        let lines = agents.lines().count();
        if full {
            paragraph.push_str("AGENTS.md:\n");
            excerpt(&mut paragraph, agents, true);
        } else {
            let _ = writeln!(paragraph, "AGENTS.md: {lines} lines (--full shows them)");
        }
    }
    if !info.papers.examples.is_empty() {
        paragraph.push_str("Examples:\n");
        for example in &info.papers.examples {
            let _ = writeln!(paragraph, "  {} ({})", plain(&example.path), human::bytes(example.size));
        }
    }
    if !paragraph.is_empty() {
        text.push('\n');
        text.push_str(&paragraph);
    }
}

/// The first lines, or all of them.
fn excerpt(text: &mut String, whole: &str, full: bool) {
    let lines: Vec<&str> = whole.trim_end().lines().collect();
    let shown = if full || lines.len() <= LINES + 1 { lines.len() } else { LINES };
    indent(text, &lines[..shown].iter().map(|line| plain(line) + "\n").collect::<String>());
    if shown < lines.len() {
        let _ = writeln!(text, "  … {} more lines (--full shows them)", lines.len() - shown);
    }
}

fn indent(text: &mut String, lines: &str) {
    for line in lines.lines() {
        let _ = writeln!(text, "{}", format!("  {line}").trim_end());
    }
}
