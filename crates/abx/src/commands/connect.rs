use super::{Edge, foreground};
use crate::Failure;
use crate::attach::AttachOptions;
use crate::cli::ConnectArgs;
use crate::terminal;

/// Opens the template's shell, on the caller's terminal where there is one.
pub(super) async fn connect(edge: &Edge, args: &ConnectArgs) -> Result<u8, Failure> {
    let sandbox = super::awake(edge, &args.id).await?;
    let tty = terminal::stdin_is_terminal() && terminal::stdout_is_terminal();
    let job = foreground::shell(&sandbox, AttachOptions { tty, interactive: true });
    foreground::run(edge, &sandbox, job).await
}
