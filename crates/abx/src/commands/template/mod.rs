//! The verbs on templates, one file each.

mod build;
mod cache;
mod explain;
mod export;
mod info;
mod init;
mod install;
mod list;
mod lock;
mod matching;
mod migrate;
mod outdated;
mod pull;
mod push;
mod resolve;
mod schema;
mod search;
mod test;
mod update;
mod validate;
mod vendor;

use super::Edge;
use crate::Failure;
use crate::cli::TemplateCommand;

pub(super) async fn template(edge: &Edge, command: TemplateCommand) -> Result<u8, Failure> {
    match command {
        TemplateCommand::Init(args) => init::init(edge, &args).await,
        TemplateCommand::Validate(args) => validate::validate(edge, &args).await,
        TemplateCommand::Resolve(args) => resolve::resolve(edge, &args).await,
        TemplateCommand::Info(args) => info::info(edge, &args).await,
        TemplateCommand::Build(args) => build::build(edge, &args).await,
        TemplateCommand::Test(args) => test::test(edge, &args).await,
        TemplateCommand::Push(args) => push::push(edge, &args).await,
        TemplateCommand::Pull(args) => pull::pull(edge, &args).await,
        TemplateCommand::Explain(args) => explain::explain(edge, &args).await,
        TemplateCommand::List(args) => list::list(edge, &args),
        TemplateCommand::Search(args) => search::search(edge, &args).await,
        TemplateCommand::Match(args) => matching::matching(edge, &args).await,
        TemplateCommand::Install(args) => install::install(edge, &args).await,
        TemplateCommand::Migrate(args) => migrate::migrate(edge, &args),
        TemplateCommand::Schema(_) => schema::schema(edge),
        TemplateCommand::Lock(args) => lock::lock(edge, &args).await,
        TemplateCommand::Outdated(args) => outdated::outdated(edge, &args).await,
        TemplateCommand::Update(args) => update::update(edge, &args).await,
        TemplateCommand::Export(args) => export::export(edge, &args),
        TemplateCommand::Vendor(args) => vendor::vendor(edge, &args).await,
        TemplateCommand::Cache(args) => cache::cache(edge, args.command).await,
    }
}
