use clap::Args;

use super::values::{KeyJson, KeyValue};

/// Call a named command of a sandbox's template
///
/// Prints the value it returns: text as it is, anything else as JSON. Words of --arg are taken as the type the
/// command declares. What it prints itself goes to the log (`abx logs`). `abx commands ID` lists what there is.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The command
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// An argument of it, as its declared type (repeatable; repeated for a list)
    #[arg(long = "arg", value_name = "K=V")]
    pub(crate) words: Vec<KeyValue>,

    /// An argument of it, in JSON (repeatable)
    #[arg(long = "arg-json", value_name = "K=JSON")]
    pub(crate) values: Vec<KeyJson>,

    /// Give up after so many seconds; 0 for never
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) timeout: u64,
}

const EXAMPLES: &str = "\
Examples:
  abx run web greet --arg name=Ada                        text, taken as declared
  abx run web resize --arg width=640 --arg keep=yes       a number and a boolean
  abx run web tag --arg words=red --arg words=blue        a list
  abx run web store --arg-json 'row={\"id\": 7}' --json     JSON in, JSON out";
