use clap::Args;

/// Keep ready sandboxes of a template waiting, so that a create takes milliseconds
///
/// A create of the same reference takes one that waits, and another is started in its place. It does so where nothing is
/// asked for that a ready sandbox cannot be given: a name, a timeout and (without a startup command) variables it can,
/// another size, port or network it cannot, and a sandbox is created as ever. When the template comes to something else,
/// those that wait are replaced. Without a reference, all pools are shown.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PoolArgs {
    /// The template reference that is created from
    #[arg(value_name = "NAME", requires = "size")]
    pub(crate) name: Option<String>,

    /// How many are to wait; 0 ends the pool
    #[arg(long, value_name = "N", requires = "name")]
    pub(crate) size: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  abx pool python-base --size 5
  abx create python-base                                takes one that waits
  abx pool                                              show all pools
  abx pool python-base --size 0                         end it";
