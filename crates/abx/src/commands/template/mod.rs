//! The verbs on templates, one file each.

mod build;
mod export;
mod list;
mod migrate;
mod resolve;
mod schema;
mod validate;
mod vendor;

use super::Edge;
use crate::Failure;
use crate::cli::TemplateCommand;

pub(super) async fn template(edge: &Edge, command: TemplateCommand) -> Result<u8, Failure> {
    match command {
        TemplateCommand::Validate(args) => validate::validate(edge, &args).await,
        TemplateCommand::Resolve(args) => resolve::resolve(edge, &args).await,
        TemplateCommand::Build(args) => build::build(edge, &args).await,
        TemplateCommand::List(args) => list::list(edge, &args),
        TemplateCommand::Migrate(args) => migrate::migrate(edge, &args),
        TemplateCommand::Schema(_) => schema::schema(edge),
        TemplateCommand::Export(args) => export::export(edge, &args),
        TemplateCommand::Vendor(args) => vendor::vendor(edge, &args).await,
    }
}
