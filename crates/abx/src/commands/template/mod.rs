//! The verbs on templates, one file each.

mod build;
mod export;
mod list;
mod resolve;
mod validate;

use super::Edge;
use crate::Failure;
use crate::cli::TemplateCommand;

pub(super) async fn template(edge: &Edge, command: TemplateCommand) -> Result<u8, Failure> {
    match command {
        TemplateCommand::Validate(args) => validate::validate(edge, &args).await,
        TemplateCommand::Resolve(args) => resolve::resolve(edge, &args).await,
        TemplateCommand::Build(args) => build::build(edge, &args).await,
        TemplateCommand::List(args) => list::list(edge, &args),
        TemplateCommand::Export(args) => export::export(edge, &args),
    }
}
