//! Lines of an image's history, in BuildKit's words.

use std::collections::{BTreeMap, BTreeSet};

use abx_dockerfile::{Argument, Files, Variable, Word};
use abx_image::Healthcheck;

/// The text of an instruction as one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `RUN |1 version=3 /bin/sh -c make # buildkit`: the arguments in force, and what was run.
pub(super) fn run(arguments: &[(String, String)], argv: &[String]) -> String {
    let mut words = Vec::new();
    if !arguments.is_empty() {
        words.push(format!("|{}", arguments.len()));
        words.extend(arguments.iter().map(|(name, value)| format!("{name}={value}")));
    }
    words.extend(argv.iter().cloned());
    format!("RUN {} # buildkit", words.join(" "))
}

/// `ENV a=b c=d`.
pub(super) fn variables(keyword: &str, variables: &[Variable]) -> String {
    let pairs = variables.iter().map(|variable| format!(" {}={}", variable.name.text, variable.value.text));
    pairs.fold(keyword.to_owned(), |line, pair| line + &pair)
}

/// `ARG a=b`; what is inherited has no value here.
pub(super) fn arguments(
    written: &[Argument],
    given: &BTreeMap<String, String>,
    expanded: &[Argument],
) -> String {
    written.iter().zip(expanded).fold("ARG".to_owned(), |line, (written, expanded)| {
        let name = &expanded.name.text;
        let is_said = written.value.is_some() || given.contains_key(name);
        match expanded.value.as_ref().filter(|_| is_said) {
            Some(value) => format!("{line} {name}={}", value.text),
            None => format!("{line} {name}"),
        }
    })
}

/// `EXPOSE map[53/udp:{} 80/tcp:{}]`.
pub(super) fn ports(ports: &[Word]) -> String {
    let sorted: BTreeSet<&str> = ports.iter().map(|port| &*port.text).collect();
    let ports: Vec<String> = sorted.iter().map(|port| format!("{port}:{{}}")).collect();
    format!("EXPOSE map[{}]", ports.join(" "))
}

/// `HEALTHCHECK &{["CMD" "x"] "5s" "0s" "0s" "0s" '\x02'}`.
pub(super) fn healthcheck(check: &Healthcheck) -> String {
    let words: Vec<String> = check.test.iter().map(|word| format!("{word:?}")).collect();
    let times = [check.interval, check.timeout, check.start_period, check.start_interval];
    let times: Vec<String> = times.iter().map(|time| format!("\"{}\"", duration(*time))).collect();
    format!("HEALTHCHECK &{{[{}] {} '\\x{:02x}'}}", words.join(" "), times.join(" "), check.retries)
}

/// Nanoseconds as Go writes them: `1m30s`, `1.5s`, `20ms`.
fn duration(nanoseconds: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    let plain = |number: f64, unit: &str| format!("{number}{unit}");
    match nanoseconds {
        0 => "0s".to_owned(),
        1..1_000 => plain(nanoseconds as f64, "ns"),
        1_000..1_000_000 => plain(nanoseconds as f64 / 1e3, "µs"),
        1_000_000..SECOND => plain(nanoseconds as f64 / 1e6, "ms"),
        _ => {
            let (minutes, rest) = (nanoseconds / (60 * SECOND), nanoseconds % (60 * SECOND));
            let seconds = plain(rest as f64 / 1e9, "s");
            match (minutes / 60, minutes % 60) {
                (0, 0) => seconds,
                (0, minutes) => format!("{minutes}m{seconds}"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

/// `CMD ["a" "b"]`.
pub(super) fn quoted(keyword: &str, words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("{keyword} [{}]", words.join(" "))
}

/// `COPY a b /c/ # buildkit`.
pub(super) fn files(keyword: &str, files: &Files) -> String {
    let mut words = vec![keyword.to_owned()];
    words.extend(files.chown.iter().map(|chown| format!("--chown={}", chown.text)));
    words.extend(files.chmod.iter().map(|chmod| format!("--chmod={}", chmod.text)));
    words.extend(files.sources.iter().map(|source| source.text.clone()));
    words.extend(files.inline.iter().map(|inline| format!("<<{}", inline.name)));
    words.push(files.dest.text.clone());
    format!("{} # buildkit", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations() {
        let rows = [
            (0, "0s"),
            (20_000_000, "20ms"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m0s"),
            (3_690_000_000_000, "1h1m30s"),
        ];
        for (nanoseconds, expected) in rows {
            assert_eq!(duration(nanoseconds), expected);
        }
    }
}
