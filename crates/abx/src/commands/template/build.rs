use std::os::unix::ffi::OsStringExt;

use agent_sandbox::FetchOptions;
use agent_sandbox::template::{self, BuildRequest};

use crate::Failure;
use crate::cli::template::BuildArgs;
use crate::cli::values::BuildArg;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};

/// Builds a template and prints its image's id.
pub(super) async fn build(edge: &Edge, args: &BuildArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, args.progress, Detail::Everything);
    let options = FetchOptions { frozen: args.frozen, ..(&args.fetch).into() };
    let request = request(edge, args)?;
    let work = template::build(&edge.context, &request, &options, &progress);
    let built = interruptible(&progress, work).await?;
    drop(progress);
    edge.printer.result(&built, &built.image)?;
    if built.reproducible == Some(true) {
        edge.printer.note("built twice, and the same both times; the times of files were left aside");
    }
    Ok(0)
}

fn request(edge: &Edge, args: &BuildArgs) -> Result<BuildRequest, Failure> {
    // A variable that is not set gives no value, as in docker.
    let argument = |given: &BuildArg| {
        let value = given.value.clone().or_else(|| std::env::var(&given.key).ok())?;
        Some((given.key.clone(), value))
    };
    let variable = |name: &str| std::env::var_os(name).map(OsStringExt::into_vec);
    let secrets = args.secret.iter().map(|secret| secret.0.read(&edge.context, &variable));
    Ok(BuildRequest {
        reference: args.reference.clone(),
        name: args.name.clone(),
        tag: args.tag.clone(),
        build_args: args.build_arg.iter().filter_map(argument).collect(),
        secrets: secrets.collect::<Result<_, _>>()?,
        target: args.target.clone(),
        platform: args.platform.clone(),
        verify: args.verify,
    })
}
