use abx_core::Fault;
use agent_sandbox::core::Secret;
use agent_sandbox::template::{self, BuildOptions, Resolved};
use serde_json::json;

use super::Edge;
use super::interrupt::interruptible;
use crate::Failure;
use crate::cli::{
    ProgressMode, TemplateBuildArgs, TemplateCommand, TemplateExportArgs, TemplateListArgs,
    TemplateResolveArgs, TemplateValidateArgs,
};
use crate::output::Table;
use crate::progress::{Detail, Reporter};
use crate::report::{ErrorObject, warning_text};

/// The verbs on templates.
pub(super) async fn template(edge: &Edge, command: TemplateCommand) -> Result<u8, Failure> {
    match command {
        TemplateCommand::Validate(args) => validate(edge, &args).await,
        TemplateCommand::Resolve(args) => resolve(edge, &args).await,
        TemplateCommand::Build(args) => build(edge, &args).await,
        TemplateCommand::List(args) => list(edge, &args),
        TemplateCommand::Export(args) => export(edge, &args),
    }
}

/// Says that a template is sound and what is questionable in it; faults come as the error.
async fn validate(edge: &Edge, args: &TemplateValidateArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let work = template::validate(&edge.context, &args.reference, &progress);
    let report = interruptible(&progress, work).await?;
    drop(progress);
    let metadata = report.lineage.effective().metadata;
    for warning in &report.warnings {
        edge.printer.note(&warning_text(warning, edge.printer.paint()));
    }
    let warnings: Vec<ErrorObject> =
        report.warnings.iter().map(|warning| ErrorObject::new(warning as &dyn Fault)).collect();
    let value = json!({
        "valid": true, "name": metadata.name, "version": metadata.version, "warnings": warnings,
    });
    edge.printer.result(&value, &format!("{} {} is valid", metadata.name, metadata.version))?;
    Ok(0)
}

/// Says what a reference stands for, a fact a line.
async fn resolve(edge: &Edge, args: &TemplateResolveArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let options = BuildOptions { no_cache: args.no_cache, offline: args.offline };
    let token = args.token.as_deref().map(Secret::new);
    let work = template::pin(&edge.context, &args.reference, token.as_ref(), options, &progress);
    let resolved = interruptible(&progress, work).await?;
    drop(progress);
    edge.printer.table(&resolved, &resolved_fields(&resolved))?;
    Ok(0)
}

fn resolved_fields(resolved: &Resolved) -> Table {
    let mut table = Table::of_fields();
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            table.row([name.to_owned(), value.to_owned()]);
        }
    };
    field("kind", Some(resolved.kind));
    field("owner", resolved.owner.as_deref());
    field("repo", resolved.repo.as_deref());
    field("subdir", resolved.subdir.as_deref());
    field("ref", resolved.git_ref.as_deref());
    field("commit", resolved.commit.as_deref());
    field("digest", resolved.digest.as_deref());
    field("canonical", Some(&resolved.canonical));
    table
}

/// Builds a template and prints its image's id.
async fn build(edge: &Edge, args: &TemplateBuildArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, args.progress, Detail::Everything);
    let options = BuildOptions { no_cache: args.no_cache, ..BuildOptions::default() };
    let (name, tag) = (args.name.as_deref(), args.tag.as_deref());
    let work = template::build(&edge.context, &args.reference, name, tag, options, &progress);
    let image = interruptible(&progress, work).await?;
    drop(progress);
    edge.printer.result(&json!({ "image": image }), &image)?;
    Ok(0)
}

/// A row for each template that needs no network to be found.
fn list(edge: &Edge, _: &TemplateListArgs) -> Result<u8, Failure> {
    let listed = template::list(&edge.context)?;
    let mut table = Table::new(["NAME", "TAG", "KIND", "IMAGE", "DESCRIPTION"]);
    for template in &listed {
        table.row([
            template.name.clone(),
            template.tag.clone(),
            template.kind.to_owned(),
            short_image(template.image.as_deref().unwrap_or_default()),
            template.description.clone().unwrap_or_default(),
        ]);
    }
    edge.printer.table(&listed, &table)?;
    Ok(0)
}

/// As much of an id as tells images apart.
fn short_image(id: &str) -> String {
    id.strip_prefix("sha256:").unwrap_or(id).chars().take(12).collect()
}

/// Writes an image archive.
fn export(edge: &Edge, args: &TemplateExportArgs) -> Result<u8, Failure> {
    let (name, tag) = args.name.split_once(':').unwrap_or((&args.name, "latest"));
    let digest = template::export(&edge.context, name, tag, &args.output)?;
    let file = args.output.display().to_string();
    let value = json!({ "name": name, "tag": tag, "file": file, "digest": digest });
    edge.printer.done(&value, &format!("wrote {file} ({digest})"))?;
    Ok(0)
}
