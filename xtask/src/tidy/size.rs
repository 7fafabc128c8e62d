//! Files that have grown too long to be read in one go.

use super::Problem;
use super::files::SourceFile;

const LINES: usize = 600;

/// A warning for each file of code that is longer than it should be.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Problem> {
    let code = files.iter().filter(|file| file.is_rust());
    code.filter_map(|file| {
        let lines = file.text.lines().count();
        let message = format!("{lines} lines; over {LINES} a file wants to be two");
        (lines > LINES).then(|| Problem { file: file.path.clone(), line: 0, message })
    })
    .collect()
}
