//! One cell, from the command line to its last event.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use agent_sandbox::Sandbox;
use agent_sandbox::code::{Code, CodeEvents, ExecuteRequest, Execution};
use tokio::time::timeout;

use super::context_id;
use super::show::Show;
use crate::cli::CodeArgs;
use crate::commands::Edge;
use crate::commands::hits::Before;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};
use crate::{EdgeError, Failure};

/// Runs it and shows what comes of it.
pub(super) async fn run(edge: &Edge, sandbox: &Sandbox, code: &Code, args: CodeArgs) -> Result<u8, Failure> {
    let before = Before::of(sandbox).await;
    let context_id = match &args.context {
        Some(prefix) => Some(context_id(code, prefix).await?),
        None => None,
    };
    let request = ExecuteRequest {
        code: text(&args)?,
        language: args.language.or_else(|| language_of(args.file.as_deref()?)),
        context_id,
        env_vars: Some(args.env.into_iter().map(|pair| (pair.key, pair.value)).collect()),
        cwd: args.cwd,
        auto_install: args.no_auto_install.then_some(false),
    };
    let show = Show::new(&edge.printer, args.output);
    let limit = args.timeout.filter(|seconds| *seconds > 0);
    let quiet = Reporter::new(&edge.printer, crate::cli::ProgressMode::Plain, Detail::Work);
    let work = async {
        let events = code.start(&request).await?;
        match limit {
            None => follow(events, &show).await,
            Some(seconds) => timeout(Duration::from_secs(seconds), follow(events, &show))
                .await
                .unwrap_or_else(|_| Err(EdgeError::CodeTimeout { seconds }.into())),
        }
    };
    let execution = interruptible(&quiet, work).await?;
    show.whole(&execution)?;
    let Some(error) = &execution.error else { return Ok(0) };
    let raised = EdgeError::Raised { name: error.name.clone(), value: error.value.clone() };
    Err(before.explain_failure(sandbox, raised.to_string()).await.unwrap_or(raised).into())
}

/// Shows everything as it comes, and returns all of it together.
async fn follow(mut events: CodeEvents, show: &Show<'_>) -> Result<Execution, Failure> {
    let mut execution = Execution::default();
    while let Some(event) = events.next().await? {
        show.event(&event)?;
        execution.add(event);
    }
    Ok(execution)
}

fn text(args: &CodeArgs) -> Result<String, Failure> {
    if let Some(path) = &args.file {
        let read = if path == Path::new("-") { stdin() } else { std::fs::read_to_string(path) };
        return read.map_err(|source| EdgeError::Read { path: path.clone(), source }.into());
    }
    match args.code.as_deref().unwrap_or_default() {
        "-" => stdin().map_err(|source| EdgeError::Read { path: "standard input".into(), source }.into()),
        code => Ok(code.to_owned()),
    }
}

fn stdin() -> std::io::Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

/// The language that a file's name tells.
fn language_of(file: &Path) -> Option<String> {
    let language = match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "py" => "python",
        "js" | "mjs" | "cjs" => "javascript",
        "ts" => "typescript",
        "sh" | "bash" => "bash",
        "r" => "r",
        "java" => "java",
        _ => return None,
    };
    Some(language.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_language() {
        let rows = [
            ("a.py", Some("python")),
            ("b.R", Some("r")),
            ("c.mjs", Some("javascript")),
            ("d", None),
            ("e.txt", None),
        ];
        for (file, expect) in rows {
            assert_eq!(language_of(Path::new(file)).as_deref(), expect, "{file}");
        }
    }
}
