//! Outcomes as a table for people and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::bench::contest::{Outcome, Unit};
use crate::bench::samples::Samples;
use crate::failure::Failure;

/// A Markdown table for each outcome, ours first, and the ratio of the medians, ours to the other's.
pub(crate) fn markdown(outcomes: &[Outcome]) -> String {
    outcomes.iter().map(table).collect::<Vec<_>>().join("\n")
}

fn table(outcome: &Outcome) -> String {
    let mut text = format!("### {}\n\n{} {}\n\n", outcome.title, outcome.what, better(outcome.unit));
    text.push_str("| | runs | median | p95 | p99/p50 | ours/other |\n|---|---:|---:|---:|---:|---:|\n");
    let ours = outcome.lines.first().filter(|(name, _)| name.starts_with("abx"));
    for (name, samples) in &outcome.lines {
        let ratio = match ours {
            Some((ours, reference)) if ours != name => {
                format!("{:.2}", reference.median() / samples.median())
            }
            _ => String::new(),
        };
        let _ = writeln!(text, "| {name} | {} | {ratio} |", cells(samples, outcome.unit));
    }
    for (name, reason) in &outcome.skipped {
        let _ = writeln!(text, "\nskipped: {name} ({})", reason.trim_end());
    }
    text
}

fn cells(samples: &Samples, unit: Unit) -> String {
    let median = samples.median();
    let spread = samples.percentile(99) / median;
    format!(
        "{} | {} | {} | {spread:.2}",
        samples.count(),
        amount(median, unit),
        amount(samples.percentile(95), unit)
    )
}

fn better(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds | Unit::Bytes => "Less is better.",
        Unit::PerSecond | Unit::Count => "More is better.",
    }
}

fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds if value < 1.0 => format!("{:.1} ms", value * 1e3),
        Unit::Seconds => format!("{value:.2} s"),
        Unit::PerSecond => format!("{value:.1}/s"),
        Unit::Bytes => format!("{:.2} MB", value / 1e6),
        Unit::Count => format!("{value:.0}"),
    }
}

/// Every measurement: what a lab hands out, and what `--json` writes.
pub(crate) fn to_json(outcomes: &[Outcome]) -> Value {
    let outcome = |outcome: &Outcome| {
        let lines = outcome.lines.iter().map(|(name, samples)| {
            json!({
                "name": name,
                "median": samples.median(),
                "p95": samples.percentile(95),
                "p99": samples.percentile(99),
                "values": samples.values(),
            })
        });
        let skipped = outcome.skipped.iter().map(|(name, reason)| json!({ "name": name, "reason": reason }));
        json!({
            "title": outcome.title,
            "what": outcome.what,
            "unit": unit_name(outcome.unit),
            "lines": lines.collect::<Value>(),
            "skipped": skipped.collect::<Value>(),
        })
    };
    outcomes.iter().map(outcome).collect()
}

/// Reads what [`to_json`] wrote.
pub(crate) fn from_json(value: &Value) -> Result<Vec<Outcome>, Failure> {
    let bad = || Failure::unexpected("the report of a lab", "is not what this program writes");
    let outcomes = value.as_array().ok_or_else(bad)?;
    outcomes.iter().map(|outcome| read_outcome(outcome).ok_or_else(bad)).collect()
}

fn read_outcome(value: &Value) -> Option<Outcome> {
    let text = |value: &Value, key: &str| Some(value.get(key)?.as_str()?.to_owned());
    let lines = value.get("lines")?.as_array()?.iter().map(|line| {
        let values = line.get("values")?.as_array()?.iter().filter_map(Value::as_f64).collect();
        Some((text(line, "name")?, Samples::new(values)?))
    });
    let skipped = value
        .get("skipped")?
        .as_array()?
        .iter()
        .map(|entry| Some((text(entry, "name")?, text(entry, "reason")?)));
    Some(Outcome {
        title: text(value, "title")?,
        what: text(value, "what")?,
        unit: read_unit(value.get("unit")?.as_str()?)?,
        lines: lines.collect::<Option<_>>()?,
        skipped: skipped.collect::<Option<_>>()?,
    })
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "s",
        Unit::PerSecond => "1/s",
        Unit::Bytes => "B",
        Unit::Count => "1",
    }
}

fn read_unit(name: &str) -> Option<Unit> {
    [Unit::Seconds, Unit::PerSecond, Unit::Bytes, Unit::Count]
        .into_iter()
        .find(|unit| unit_name(*unit) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> Outcome {
        let samples = |values: &[f64]| Samples::new(values.to_vec()).expect("some");
        Outcome {
            title: "exec".into(),
            what: "A command in a running sandbox.".into(),
            unit: Unit::Seconds,
            lines: vec![
                ("abx".into(), samples(&[0.010, 0.020, 0.030])),
                ("runc".into(), samples(&[0.040, 0.040, 2.0])),
            ],
            skipped: vec![("podman".into(), "not installed".into())],
        }
    }

    #[test]
    fn the_table_holds_medians_and_the_ratio() {
        let expected = "\
### exec

A command in a running sandbox. Less is better.

| | runs | median | p95 | p99/p50 | ours/other |
|---|---:|---:|---:|---:|---:|
| abx | 3 | 20.0 ms | 30.0 ms | 1.50 |  |
| runc | 3 | 40.0 ms | 2.00 s | 50.00 | 0.50 |

skipped: podman (not installed)
";
        assert_eq!(markdown(&[outcome()]), expected);
    }

    #[test]
    fn json_comes_back_as_it_went() {
        assert_eq!(from_json(&to_json(&[outcome()])).expect("read"), [outcome()]);
        assert!(from_json(&json!([{ "title": 1 }])).is_err());
    }
}
