//! What the fuzzers have found, and what reaches far, once more.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use abx_fuzz::TARGETS;

fn fuzz() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "fuzz"].iter().collect()
}

fn names(folder: PathBuf) -> Vec<String> {
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
#[test]
fn every_input_that_is_kept_holds() {
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0);
    let mut failed = Vec::new();
    for target in TARGETS {
        if target.needs_root && !is_root {
            eprintln!("skipped: the corpus of {} needs root", target.name);
            continue;
        }
        let folder = fuzz().join("corpus").join(target.name);
        for name in names(folder.clone()) {
            let bytes = fs::read(folder.join(&name)).expect("read");
            if catch_unwind(AssertUnwindSafe(|| (target.check)(&bytes))).is_err() {
                failed.push(format!("{}/{name}", target.name));
            }
        }
    }
    assert!(failed.is_empty(), "these do not hold: {failed:?}");
}

#[test]
fn every_target_has_a_program_and_a_corpus() {
    let mut targets: Vec<_> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    targets.sort();
    let programs: Vec<_> = names(fuzz().join("fuzz_targets"))
        .iter()
        .map(|name| name.trim_end_matches(".rs").to_owned())
        .collect();
    assert_eq!(programs, targets);
    assert_eq!(names(fuzz().join("corpus")), targets);
}
