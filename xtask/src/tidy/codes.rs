//! Error codes: one that is written down somewhere must exist.

use std::collections::BTreeSet;
use std::path::Path;

use super::Problem;
use super::files::SourceFile;
use crate::failure::Failure;

/// The table of codes.
const TABLE: &str = "crates/abx-core/src/code.rs";

/// A problem for each code in documentation and templates that the table lacks.
pub(crate) fn check(root: &Path, files: &[SourceFile]) -> Result<Vec<Problem>, Failure> {
    let path = root.join(TABLE);
    let table = std::fs::read_to_string(&path).map_err(Failure::file(&path))?;
    let known: BTreeSet<&str> = codes(&table).collect();
    let documents =
        files.iter().filter(|file| file.path.extension().is_some_and(|extension| extension == "md"));
    Ok(documents.flat_map(|file| unknown(file, &known)).collect())
}

fn unknown(file: &SourceFile, known: &BTreeSet<&str>) -> Vec<Problem> {
    let lines = file.text.lines().enumerate();
    lines
        .flat_map(|(index, line)| {
            codes(line).filter(|code| !known.contains(code)).map(move |code| Problem {
                file: file.path.clone(),
                line: index + 1,
                message: format!("{code} is no code of {TABLE}"),
            })
        })
        .collect()
}

/// Every `E` with four digits that stands alone.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| {
        word.len() == 5 && word.starts_with('E') && word[1..].bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::codes;

    #[test]
    fn codes_are_words_of_their_own() {
        let found: Vec<_> = codes("error[E2004]: x, E3000–E3003; not E20, E12345, CODE2004").collect();
        assert_eq!(found, ["E2004", "E3000", "E3003"]);
    }
}
