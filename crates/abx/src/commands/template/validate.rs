use abx_core::Fault;
use agent_sandbox::FetchOptions;
use agent_sandbox::template;
use serde_json::json;

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::{ReportFormat, ValidateArgs};
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};
use crate::report::{ErrorObject, Sarif, SarifLevel, hint_text, warning_text};

/// Says that a template is sound and what is questionable in it; faults come as the error.
pub(super) async fn validate(edge: &Edge, args: &ValidateArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let options = FetchOptions { frozen: args.frozen, ..(&args.fetch).into() };
    let work = template::validate(&edge.context, &args.reference, &options, &progress);
    let found = interruptible(&progress, work).await;
    drop(progress);
    if args.format == ReportFormat::Sarif {
        return sarif(edge, found);
    }
    let report = found?;
    let metadata = report.lineage.effective().metadata;
    let paint = edge.printer.paint();
    for warning in &report.warnings {
        edge.printer.note(&warning_text(&**warning, paint));
    }
    if edge.printer.verbose() > 0 {
        for hint in &report.hints {
            edge.printer.note(&hint_text(&**hint, paint));
        }
    }
    let value = json!({
        "valid": true, "name": metadata.name, "version": metadata.version,
        "warnings": objects(&report.warnings), "hints": objects(&report.hints),
    });
    edge.printer.result(&value, &format!("{} {} is valid", metadata.name, metadata.version))?;
    Ok(0)
}

fn objects(findings: &[template::Finding]) -> Vec<ErrorObject> {
    findings.iter().map(|finding| ErrorObject::new(&**finding)).collect()
}

/// Everything as one log on stdout, faults too; the status is what it would be without.
fn sarif(edge: &Edge, found: Result<template::Report, Failure>) -> Result<u8, Failure> {
    let mut log = Sarif::default();
    let status = match found {
        Ok(report) => {
            report.warnings.iter().for_each(|warning| log.add(&**warning, SarifLevel::Warning));
            report.hints.iter().for_each(|hint| log.add(&**hint, SarifLevel::Note));
            0
        }
        Err(Failure::Fault(fault)) => {
            let fault: &dyn Fault = fault.as_ref();
            log.add(fault, SarifLevel::Error);
            fault.code().exit_status()
        }
        Err(other) => return Err(other),
    };
    let text = serde_json::to_string_pretty(&log.value()).map_err(|error| Failure::Output(error.into()))?;
    edge.printer.raw(&format!("{text}\n"))?;
    Ok(status)
}
