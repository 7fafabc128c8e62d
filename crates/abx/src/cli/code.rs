use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::values::KeyValue;

/// Run code in a sandbox, cell by cell
///
/// What a cell defines is there for the next one of its context. Output comes as it is written; the value of the last
/// expression is printed; pictures are saved to files whose names are printed. A cell that raises ends with status 1
/// and its traceback, one that is cut by --timeout with status 5.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
#[command(group = ArgGroup::new("what").required(true).args(["code", "file", "contexts", "new", "restart", "remove"]))]
pub(crate) struct CodeArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The code; `-` for standard input
    #[arg(value_name = "CODE", allow_hyphen_values = true)]
    pub(crate) code: Option<String>,

    /// Take the code from a file, whose name may tell the language
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Its language: python, javascript, typescript, bash, r, java, or a kernel's name [default: python]
    #[arg(long, value_name = "L")]
    pub(crate) language: Option<String>,

    /// Run it in this context, by id or a unique prefix of it [default: one for each language and directory]
    #[arg(long, value_name = "C", conflicts_with_all = ["language", "cwd"])]
    pub(crate) context: Option<String>,

    /// The context's directory [default: the sandbox's workdir]
    #[arg(long, value_name = "D")]
    pub(crate) cwd: Option<String>,

    /// Set an environment variable while this code runs (repeatable)
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<KeyValue>,

    /// Stop the code after so many seconds; 0 for never
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<u64>,

    /// Leave missing modules missing, whatever the template says
    #[arg(long)]
    pub(crate) no_auto_install: bool,

    /// Save every form of every result to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// List the contexts
    #[arg(long)]
    pub(crate) contexts: bool,

    /// Make a context of its own and print its id
    #[arg(long)]
    pub(crate) new: bool,

    /// Forget what was defined in a context, and stop what it runs
    #[arg(long, value_name = "C")]
    pub(crate) restart: Option<String>,

    /// Remove a context
    #[arg(long, value_name = "C")]
    pub(crate) remove: Option<String>,
}

const USAGE: &str =
    "abx code [OPTIONS] ID CODE|-f FILE|-\n       abx code ID --contexts | --new | --restart C | --remove C";

const EXAMPLES: &str = "\
Examples:
  abx code web 'x = 6'; abx code web 'x * 7'            prints 42
  abx code web -f plot.py                               saves result-1.png and prints its name
  echo 'print(1)' | abx code web -                      code from standard input
  abx code web --language bash 'echo $HOME'             another language, where the template has its kernel
  c=$(abx code web --new --cwd /data)                   a context of its own
  abx code web --context $c 'import os; os.getcwd()'
  abx code web --json '1 / 0' | jq .error.name          everything that came of it as one value";
