//! The command line of the comparison.

use std::path::PathBuf;

use crate::bench::row::Row;
use crate::failure::Failure;

/// What to measure and how.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) rows: Vec<Row>,
    /// Rounds of the quick rows; each row has its own number where absent.
    pub(crate) runs: Option<usize>,
    /// Where every measurement is written as JSON.
    pub(crate) json: Option<PathBuf>,
    /// A state directory of ours to use and keep; a fresh one is made and removed where absent.
    pub(crate) home: Option<PathBuf>,
    /// The program to measure; built where absent.
    pub(crate) abx: Option<PathBuf>,
}

/// The help text.
pub(crate) fn usage() -> String {
    let rows = Row::ALL.map(|row| format!("  {:<14} {}", row.name(), row.about())).join("\n");
    format!(
        "\
Usage: cargo xtask bench [ROW…] [--runs N] [--json FILE] [--home DIR] [--abx PROGRAM]

Ours beside the programs that are installed: on the same root file system, in one run, taking turns.

Rows (all of them where none is named):
{rows}

Options:
  --runs N        rounds of the quick rows; slow ones take fewer
  --json FILE     write every measurement
  --home DIR      a state directory to use and keep, so that the templates need not be built again; its
                  download caches are emptied by `build`
  --abx PROGRAM   the program to measure (default: the release build)"
    )
}

impl Options {
    /// Reads `arguments`; `None` where they ask for help.
    pub(crate) fn parse(arguments: &[String]) -> Result<Option<Self>, Failure> {
        let mut options = Self { rows: Vec::new(), runs: None, json: None, home: None, abx: None };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| Failure::Usage(format!("{word} needs a value\n\n{}", usage())));
            match word.as_str() {
                "-h" | "--help" => return Ok(None),
                "--runs" => options.runs = Some(positive(value()?)?),
                "--json" => options.json = Some(value()?.into()),
                "--home" => options.home = Some(value()?.into()),
                "--abx" => options.abx = Some(value()?.into()),
                name => {
                    let row = Row::named(name);
                    options
                        .rows
                        .push(row.ok_or_else(|| Failure::Usage(format!("no row `{name}`\n\n{}", usage())))?);
                }
            }
        }
        if options.rows.is_empty() {
            options.rows = Row::ALL.to_vec();
        }
        Ok(Some(options))
    }
}

fn positive(text: &str) -> Result<usize, Failure> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Failure::Usage(format!("`{text}` is not a number of rounds")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_options_mix() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let parse = |text: &str| Options::parse(&words(text));
        let options = parse("exec --runs 3 burst --home /h").expect("parses").expect("no help");
        assert_eq!((options.rows, options.runs), (vec![Row::Exec, Row::Burst], Some(3)));
        assert_eq!(options.home, Some("/h".into()));
        assert_eq!(parse("").expect("parses").expect("no help").rows, Row::ALL);
        assert_eq!(parse("exec -h").expect("parses"), None);
        for wrong in ["nothing", "--runs", "--runs 0", "--runs x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
