use clap::Args;

use crate::cli::fetch::FetchArgs;
use crate::cli::values::{BuildArg, ProgressMode, SecretValue};

/// Build a template's image, so that creating from it is instant
#[derive(Debug, Args)]
#[command(after_help = BUILD_EXAMPLES)]
pub(crate) struct BuildArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,

    /// Keep it as a local template of this name
    #[arg(long, value_name = "N")]
    pub(crate) name: Option<String>,

    /// The local template's tag
    #[arg(long, value_name = "T")]
    pub(crate) tag: Option<String>,

    /// A value for an ARG of the Dockerfile; K alone takes it from the environment
    #[arg(long, value_name = "K=V")]
    pub(crate) build_arg: Vec<BuildArg>,

    /// A secret for RUN --mount=type=secret, from a file or a variable: id=K,src=FILE or id=K,env=NAME
    #[arg(long, value_name = "id=K,src=FILE")]
    pub(crate) secret: Vec<SecretValue>,

    /// The stage of the Dockerfile that becomes the image
    #[arg(long, value_name = "STAGE")]
    pub(crate) target: Option<String>,

    /// What the image is for; only this host's own platform can be built
    #[arg(long, value_name = "P")]
    pub(crate) platform: Option<String>,

    /// Build twice, the second time without the cache, and fail where the images differ
    #[arg(long)]
    pub(crate) verify: bool,

    /// Fail where template.lock is missing or something differs from it
    #[arg(long)]
    pub(crate) frozen: bool,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,

    /// How to show progress: bars on a terminal, or plain lines
    #[arg(long, value_enum, value_name = "auto|plain", default_value = "auto")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) progress: ProgressMode,
}

const BUILD_EXAMPLES: &str = "\
Examples:
  abx template build ./my-template
  abx template build . --name shop --tag v1.0
  abx template build . --build-arg PYTHON=3.12 --secret id=token,src=token.txt
  abx template build . --progress plain 2> build.log";
