//! Ignore files and their patterns.

use abx_dockerfile::{Ignore, Verdict};

use crate::place;

/// The first part are the patterns, each line behind the first zero byte a path. A walk that enters only folders in
/// which something may be kept finds all that is kept.
pub fn ignore(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (patterns, paths) = text.split_once('\0').unwrap_or((text, "a\na/b\na/b/c.py\n.git/x"));
    let ignore = match Ignore::parse(patterns, ".dockerignore") {
        Ok(ignore) => ignore,
        Err(invalid) => return invalid.diagnostics().for_each(|fault| place::told(fault, patterns)),
    };
    let is_path = |path: &&str| path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    for path in paths.lines().filter(is_path).take(100) {
        let is_ignored = ignore.excludes(path);
        assert!(!ignore.is_empty() || !is_ignored, "no pattern leaves {path:?} out");
        walk(&ignore, path, is_ignored);
    }
}

fn walk(ignore: &Ignore, path: &str, is_ignored: bool) {
    let mut verdict = Verdict::default();
    for (end, _) in path.match_indices('/') {
        let folder = &path[..end];
        verdict = ignore.below(&verdict, folder);
        assert!(
            is_ignored || ignore.may_keep_below(&verdict, folder),
            "{path:?} is kept, and {folder:?} not entered"
        );
    }
    assert_eq!(ignore.below(&verdict, path).is_ignored, is_ignored, "{path:?}");
}
