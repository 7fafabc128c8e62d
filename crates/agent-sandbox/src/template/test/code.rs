//! `code`: a cell and what comes of it.

use std::time::Duration;

use abx_spec::Place;
use abx_spec::suite::CodeCheck;

use super::finding::{Finding, Unseen};
use crate::Sandbox;
use crate::code::{CodeResult, ExecuteRequest, Execution};

pub(super) async fn check(sandbox: &Sandbox, check: &CodeCheck, place: &Place) -> Result<Finding, Unseen> {
    let request = ExecuteRequest {
        code: check.code.clone(),
        language: check.language.clone(),
        ..ExecuteRequest::default()
    };
    let limit = Duration::from_secs_f64(check.timeout);
    let code = sandbox.code()?;
    let Ok(execution) = tokio::time::timeout(limit, code.run(&request)).await else {
        let mut finding = Finding::default();
        finding.miss(place, "time", format!("at most {} s", check.timeout), "stopped after that".to_owned());
        return Ok(finding);
    };
    Ok(judge(check, place, &execution?))
}

fn judge(check: &CodeCheck, place: &Place, execution: &Execution) -> Finding {
    let mut finding = Finding::default();
    match (&check.error, &execution.error) {
        (None, Some(error)) => {
            let raised = format!("{}: {}", error.name, error.value);
            finding.miss(place, "error", "none".to_owned(), raised);
            finding.wrote("traceback", &error.traceback);
        }
        (Some(wanted), raised) => {
            let raised = raised.as_ref().map_or("none", |error| error.name.as_str());
            finding.same(wanted, "error", raised.to_owned());
        }
        (None, None) => {}
    }
    finding.text(&check.stdout, "stdout", &execution.stdout);
    finding.text(&check.stderr, "stderr", &execution.stderr);
    if !check.result.is_empty() {
        finding.text(&check.result, "result", execution.text().unwrap_or_default());
    }
    for format in &check.formats {
        if !execution.results.iter().any(|result| has(result, &format.value)) {
            let there: Vec<String> = execution.results.iter().flat_map(forms).collect();
            finding.miss(&format.place, "formats", format.value.clone(), there.join(", "));
        }
    }
    if !finding.failures.is_empty() {
        finding.wrote("stdout", &execution.stdout);
        finding.wrote("stderr", &execution.stderr);
    }
    finding
}

/// Whether a result has this form: a word of the wire's, or a MIME type among the further ones.
fn has(result: &CodeResult, form: &str) -> bool {
    forms(result).iter().any(|known| known == form)
}

/// The forms a result is there in.
fn forms(result: &CodeResult) -> Vec<String> {
    let value = serde_json::to_value(result).unwrap_or_default();
    let extra = result.extra.iter().flatten().map(|(form, _)| form.clone());
    let words = value.as_object().into_iter().flatten();
    let words = words.filter(|(word, value)| *word != "extra" && !value.is_null() && !value.is_boolean());
    words.map(|(word, _)| word.clone()).chain(extra).collect()
}
