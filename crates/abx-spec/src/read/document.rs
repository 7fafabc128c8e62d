//! `docs/template-reference.md` says what the readers do: the same keys, bounds and defaults, and examples
//! that are read.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::keys;
use crate::limits;

const DOCUMENT: &str = include_str!("../../../../docs/template-reference.md");
const SHORTHAND: &str = "\n## The flat shorthand\n";

/// A line of a table: the words in its first cell and its last, and all of it.
struct Row {
    key: &'static str,
    example: &'static str,
    line: &'static str,
}

/// The rows on the full form and those on the shorthand.
fn rows() -> [Vec<Row>; 2] {
    let (full, shorthand) = DOCUMENT.split_once(SHORTHAND).expect("the shorthand's section");
    [full, shorthand].map(|text| text.lines().filter_map(row).collect())
}

fn row(line: &'static str) -> Option<Row> {
    let (key, rest) = line.strip_prefix("| `")?.split_once("` |")?;
    let (_, example) = rest.strip_suffix("` |")?.rsplit_once("| `")?;
    Some(Row { key, example, line })
}

fn documented(rows: &[Row]) -> BTreeSet<String> {
    let keys: BTreeSet<String> = rows.iter().map(|row| row.key.to_owned()).collect();
    assert_eq!(keys.len(), rows.len(), "each key has one row");
    keys
}

fn accepted(sections: &[(&str, &[&str])]) -> BTreeSet<String> {
    let paths =
        |(section, keys): &(&str, &[&str])| keys.iter().map(|key| super::value::join(section, key)).collect();
    sections.iter().flat_map(|section| -> Vec<String> { paths(section) }).collect()
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_read() {
    let [full, shorthand] = rows();
    let sections = [
        ("", keys::TOP),
        ("metadata", keys::METADATA),
        ("base", keys::BASE),
        ("build", keys::BUILD),
        ("build.copy", keys::COPY),
        ("resources", keys::RESOURCES),
        ("network", keys::NETWORK),
        ("network.egress", keys::EGRESS),
        ("network.egress", keys::EGRESS),
        ("sandbox", keys::SANDBOX),
        ("sandbox.readiness_probe", keys::PROBE),
        ("agent", keys::AGENT),
        ("healthcheck", keys::HEALTHCHECK),
    ];
    assert_eq!(documented(&full), accepted(&sections));
    let sections = [("", keys::SHORTHAND), ("packages", keys::PACKAGES), ("files", keys::FILE)];
    assert_eq!(documented(&shorthand), accepted(&sections));
}

#[test]
fn every_example_shows_its_key_and_is_read() {
    let [full, shorthand] = rows();
    let heads = [
        ["version: \"1\"", "metadata: {name: t}", "base: {image: debian}"].as_slice(),
        ["name: t", "base: debian"].as_slice(),
    ];
    for (rows, head) in [full, shorthand].iter().zip(heads) {
        for Row { key, example, .. } in rows {
            let section = |line: &str| line.split(':').next().map(str::to_owned);
            let mut lines: Vec<&str> =
                head.iter().copied().filter(|line| section(line) != section(example)).collect();
            lines.push(example);
            assert!(key.split('.').all(|word| example.contains(&format!("{word}:"))), "`{key}`: {example}");
            if let Err(invalid) = crate::parse(&lines.join("\n"), "example") {
                panic!("`{key}`: {example}: {invalid}");
            }
        }
    }
}

#[test]
fn the_whole_files_are_read() {
    let blocks: Vec<&str> =
        DOCUMENT.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 2);
    let specs = blocks.into_iter().map(|text| crate::parse(text, "block").expect("a sound file").spec);
    let means: Vec<_> = specs.map(|spec| crate::merge([&spec])).collect();
    assert_eq!((&means[0].metadata, &means[0].ports), (&means[1].metadata, &means[1].ports));
}

#[test]
fn bounds_and_defaults_are_those_of_the_code() {
    fn range<T: ToString>(range: &RangeInclusive<T>) -> String {
        format!("{} to {}", range.start().to_string(), range.end().to_string())
    }
    let words = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let probe = range(&limits::PROBE_SECONDS);
    let timeout = range(&limits::TIMEOUT);
    let rows = rows();
    let table = [
        ("metadata.version", String::new(), limits::DEFAULT_VERSION.to_owned()),
        ("metadata.category", words(limits::CATEGORIES), String::new()),
        (
            "capabilities",
            words(limits::CAPABILITIES),
            format!("[{}]", limits::DEFAULT_CAPABILITIES.join(", ")),
        ),
        ("resources.cpu", range(&limits::CPU), limits::DEFAULT_CPU.to_string()),
        ("resources.memory", range(&limits::MEMORY), limits::DEFAULT_MEMORY.to_string()),
        ("resources.disk", range(&limits::DISK), limits::DEFAULT_DISK.to_string()),
        ("resources.timeout", timeout.clone(), limits::DEFAULT_TIMEOUT.to_string()),
        ("resources.idle_timeout", timeout, limits::DEFAULT_IDLE_TIMEOUT.to_string()),
        ("sandbox.workdir", String::new(), limits::DEFAULT_WORKDIR.to_owned()),
        ("sandbox.user", String::new(), limits::DEFAULT_USER.to_owned()),
        ("sandbox.readiness_probe.interval", probe.clone(), limits::DEFAULT_PROBE_INTERVAL.to_string()),
        ("sandbox.readiness_probe.timeout", probe.clone(), limits::DEFAULT_PROBE_TIMEOUT.to_string()),
        ("healthcheck.interval", probe.clone(), limits::DEFAULT_HEALTH_INTERVAL.to_string()),
        ("healthcheck.timeout", probe, limits::DEFAULT_HEALTH_TIMEOUT.to_string()),
        ("healthcheck.retries", range(&limits::RETRIES), limits::DEFAULT_HEALTH_RETRIES.to_string()),
        (
            "healthcheck.start_period",
            range(&limits::START_PERIOD),
            limits::DEFAULT_HEALTH_START_PERIOD.to_string(),
        ),
    ];
    for (key, bounds, default) in table {
        let row = rows[0].iter().find(|row| row.key == key).expect(key);
        assert!(row.line.contains(&bounds), "`{key}`: {bounds}");
        let default = if default.is_empty() { "none |".to_owned() } else { format!("| `{default}` |") };
        assert!(row.line.contains(&default), "`{key}`: {default}");
    }
}
