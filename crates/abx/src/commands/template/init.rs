use agent_sandbox::template::{self, InitRequest};

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::InitArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};
use crate::report::plain;

/// Writes a new template, prints its reference and says what to do next.
pub(super) async fn init(edge: &Edge, args: &InitArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let request = InitRequest {
        folder: args.folder.clone(),
        from: args.from.clone(),
        dockerfile: args.dockerfile.clone(),
    };
    let options = (&args.fetch).into();
    let work = template::init(&edge.context, &request, &options, &progress);
    let begun = interruptible(&progress, work).await?;
    drop(progress);
    edge.printer.result(&begun, &begun.reference)?;
    for missing in &begun.missing {
        edge.printer.warning(&plain(missing));
    }
    let reference = &begun.reference;
    edge.printer.note(&format!(
        "\
Next:
  edit {reference}/template.yaml
  abx template validate {reference}
  abx template test {reference}
  abx create {reference} --rm -- ./hello
  cd {reference} && git init && git add . && git commit -m \"init\""
    ));
    Ok(0)
}
