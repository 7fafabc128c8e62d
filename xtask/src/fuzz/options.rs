//! The command line of the fuzzers.

use crate::failure::Failure;

/// What to run and for how long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) targets: Vec<String>,
    /// For each target.
    pub(crate) seconds: u32,
    /// Adds the inputs that reach further than those of the kept corpus do.
    pub(crate) keeps: bool,
}

/// The help text.
pub(crate) fn usage(targets: &[String]) -> String {
    format!(
        "\
Usage: cargo xtask fuzz [TARGET…] [--seconds N] [--keep]

Any bytes for the readers of foreign text; an input that makes one panic is kept and shown.

Targets (all of them where none is named):
  {}

Options:
  --seconds N   for each target (default: 60)
  --keep        add the inputs that reach further to fuzz/corpus, as few as will do
",
        targets.join(", ")
    )
}

impl Options {
    /// Reads `arguments`; `None` where they ask for help.
    pub(crate) fn parse(arguments: &[String], known: &[String]) -> Result<Option<Self>, Failure> {
        let fault = |what: String| Failure::Usage(format!("{what}\n\n{}", usage(known)));
        let mut options = Self { targets: Vec::new(), seconds: 60, keeps: false };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-h" | "--help" => return Ok(None),
                "--keep" => options.keeps = true,
                "--seconds" => {
                    let seconds =
                        words.next().and_then(|word| word.parse().ok()).filter(|seconds| *seconds > 0);
                    options.seconds = seconds.ok_or_else(|| fault("--seconds needs a number".to_owned()))?;
                }
                name if known.iter().any(|known| known == name) => options.targets.push(name.to_owned()),
                name => return Err(fault(format!("no target `{name}`"))),
            }
        }
        if options.targets.is_empty() {
            options.targets = known.to_vec();
        }
        Ok(Some(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Options>, Failure> {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words, &["a".to_owned(), "b".to_owned()])
    }

    #[test]
    fn all_targets_where_none_is_named() {
        let all = Options { targets: vec!["a".into(), "b".into()], seconds: 60, keeps: false };
        assert_eq!(parse("").ok(), Some(Some(all)));
        let one = Options { targets: vec!["b".into()], seconds: 5, keeps: true };
        assert_eq!(parse("b --keep --seconds 5").ok(), Some(Some(one)));
        assert_eq!(parse("--help").ok(), Some(None));
        for wrong in ["c", "--seconds", "--seconds 0", "a --seconds x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
