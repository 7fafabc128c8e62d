use super::Edge;
use super::foreground::{self, Job};
use crate::Failure;
use crate::cli::ExecArgs;

/// Runs a command in a running sandbox; its status becomes ours.
pub(super) async fn exec(edge: &Edge, args: ExecArgs) -> Result<u8, Failure> {
    let attach = foreground::attach_options(args.stdio)?;
    let sandbox = super::awake(edge, &args.id).await?;
    let job = Job {
        command: args.command,
        user: args.user,
        cwd: args.cwd,
        env: args.env.into_iter().map(|pair| (pair.key, pair.value)).collect(),
        timeout: args.timeout.filter(|seconds| *seconds > 0),
        attach,
    };
    foreground::run(edge, &sandbox, job).await
}
