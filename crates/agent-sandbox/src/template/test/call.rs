//! `call` and `commands`: named commands.

use std::time::Duration;

use abx_spec::suite::CallCheck;
use abx_spec::{At, Place};

use super::finding::{Finding, Unseen};
use crate::{Error, Sandbox};

/// Calls one and looks at what it returns or raises.
pub(super) async fn check(sandbox: &Sandbox, check: &CallCheck, place: &Place) -> Result<Finding, Unseen> {
    let mut finding = Finding::default();
    let timeout = Duration::from_secs_f64(check.timeout);
    let shown = |value: &serde_json::Value| value.to_string();
    match sandbox.run(&check.name, check.args.clone(), timeout).await {
        Ok(value) if !check.error.is_empty() => {
            finding.miss(&check.error[0].place, "error", check.error[0].value.to_string(), shown(&value));
        }
        Ok(value) => {
            if let Some(At { value: wanted, place }) =
                check.result.as_ref().filter(|wanted| wanted.value != value)
            {
                finding.miss(place, "result", shown(wanted), shown(&value));
            }
        }
        Err(Error::Command(error)) if !check.error.is_empty() => {
            finding.text(&check.error, "error", &error.to_string());
        }
        Err(Error::Command(error)) => {
            finding.miss(place, "error", "none".to_owned(), error.to_string());
        }
        Err(error) => return Err(error.into()),
    }
    Ok(finding)
}

/// Whether they are all there.
pub(super) async fn are_there(sandbox: &Sandbox, names: &[At<String>]) -> Result<Finding, Unseen> {
    let mut finding = Finding::default();
    let known = sandbox.commands().await?;
    for At { value, place } in names {
        if !known.iter().any(|command| command.name == *value) {
            let there: Vec<&str> = known.iter().map(|command| command.name.as_str()).collect();
            finding.miss(place, "commands", value.clone(), there.join(", "));
        }
    }
    Ok(finding)
}
