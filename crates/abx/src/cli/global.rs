use std::ffi::OsString;

use clap::{ArgAction, Args};

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Print one JSON value on stdout; errors are one JSON object on stderr
    #[arg(long, global = true, display_order = 900)]
    pub(crate) json: bool,

    /// No progress, notes or warnings; errors only
    #[arg(short, long, global = true, display_order = 901)]
    pub(crate) quiet: bool,

    /// Say more: the output of build steps as it comes
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet", display_order = 902)]
    pub(crate) verbose: u8,

    /// No colours, on a terminal either (so does a set NO_COLOR)
    #[arg(long, global = true, display_order = 903)]
    pub(crate) no_color: bool,
}

/// What must be known before the arguments are parsed, because parsing itself may fail and be reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Early {
    pub(crate) json: bool,
    pub(crate) no_color: bool,
}

impl Early {
    /// Looks at the words before `--` only: what follows belongs to the command in the sandbox.
    pub(crate) fn scan(words: &[OsString]) -> Self {
        let mut early = Self::default();
        for word in words.iter().skip(1).take_while(|word| *word != "--") {
            early.json |= word == "--json";
            early.no_color |= word == "--no-color";
        }
        early
    }
}
