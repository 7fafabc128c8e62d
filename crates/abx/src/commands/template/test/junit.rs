//! The report as JUnit XML, the form that build servers read.
//!
//! Written by hand: a suite for each file, a case for each test; a library for it brings more code than this is.

use std::fmt::Write;

use agent_sandbox::template::{FileReport, Outcome, TestReport};

/// The whole document.
pub(super) fn document(report: &TestReport) -> String {
    let seconds: f64 = report.files.iter().map(|file| file.seconds).sum();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" time=\"{seconds:.3}\">\n",
        escaped(&report.template),
        report.tests().count(),
        report.failed(),
    );
    report.files.iter().for_each(|file| suite(&mut text, file));
    text.push_str("</testsuites>\n");
    text
}

fn suite(text: &mut String, file: &FileReport) {
    let failed = file.tests.iter().filter(|test| !test.passed).count();
    let (name, count) = (escaped(&file.file), file.tests.len());
    let _ = writeln!(
        text,
        "  <testsuite name=\"{name}\" tests=\"{count}\" failures=\"{failed}\" time=\"{:.3}\">",
        file.seconds
    );
    file.tests.iter().for_each(|test| case(text, test));
    text.push_str("  </testsuite>\n");
}

fn case(text: &mut String, test: &Outcome) {
    let Outcome { name, file, line, seconds, .. } = test;
    let (name, file) = (escaped(name), escaped(file));
    let _ = write!(
        text,
        "    <testcase name=\"{name}\" classname=\"{file}\" file=\"{file}\" line=\"{line}\" time=\"{seconds:.3}\""
    );
    if test.passed {
        text.push_str("/>\n");
        return;
    }
    text.push_str(">\n");
    for failure in &test.failures {
        let what = escaped(&failure.what);
        let body = escaped(&format!(
            "{}:{}:{}: {}\nexpected: {}\nactual: {}",
            failure.file, failure.line, failure.column, failure.what, failure.expected, failure.actual
        ));
        let _ = writeln!(text, "      <failure message=\"{what} is not as it must be\">{body}</failure>");
    }
    if !test.output.is_empty() {
        let _ = writeln!(text, "      <system-out>{}</system-out>", escaped(&test.output.join("\n")));
    }
    text.push_str("    </testcase>\n");
}

/// Text for an element or an attribute. What XML has no way to write is shown as `\u{1b}`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push('\t'),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                let _ = write!(escaped, "{}", letter.escape_unicode());
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use agent_sandbox::template::Mismatch;

    use super::*;

    #[test]
    fn a_report_is_sound_xml() {
        let file = || "./m/tests/a.yaml".to_owned();
        let outcome = |name: &str, failures: Vec<Mismatch>| Outcome {
            name: name.to_owned(),
            file: file(),
            line: 2,
            passed: failures.is_empty(),
            seconds: 0.25,
            output: if failures.is_empty() { Vec::new() } else { vec!["stderr:".into(), "a < b".into()] },
            failures,
        };
        let failure = Mismatch {
            what: "stdout".into(),
            expected: "\"x\" & y".into(),
            actual: "\u{1b}[1m".into(),
            file: file(),
            line: 3,
            column: 13,
        };
        let tests = vec![outcome("good", Vec::new()), outcome("<bad>", vec![failure])];
        let files = vec![FileReport { file: file(), seconds: 1.5, tests, kept: Vec::new() }];
        let report = TestReport { template: "m:1.0.0".into(), image: "sha256:0".into(), files };
        assert_eq!(
            document(&report),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuites name=\"m:1.0.0\" tests=\"2\" failures=\"1\" time=\"1.500\">\n  \
             <testsuite name=\"./m/tests/a.yaml\" tests=\"2\" failures=\"1\" time=\"1.500\">\n    \
             <testcase name=\"good\" classname=\"./m/tests/a.yaml\" file=\"./m/tests/a.yaml\" line=\"2\" time=\"0.250\"/>\n    \
             <testcase name=\"&lt;bad&gt;\" classname=\"./m/tests/a.yaml\" file=\"./m/tests/a.yaml\" line=\"2\" time=\"0.250\">\n      \
             <failure message=\"stdout is not as it must be\">./m/tests/a.yaml:3:13: stdout&#10;expected: &quot;x&quot; &amp; y&#10;actual: \\u{1b}[1m</failure>\n      \
             <system-out>stderr:&#10;a &lt; b</system-out>\n    \
             </testcase>\n  \
             </testsuite>\n\
             </testsuites>\n"
        );
    }
}
