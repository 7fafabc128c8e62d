use clap::Args;

/// Push a template's image to a registry, with the template in it
///
/// Others create from it by its address, and get the ports, probes and limits of the template. Log in with
/// `docker login HOST` or `podman login HOST`.
#[derive(Debug, Args)]
#[command(after_help = PUSH_EXAMPLES)]
pub(crate) struct PushArgs {
    /// A built-in template or one built here
    #[arg(value_name = "NAME[:TAG]")]
    pub(crate) name: String,

    /// Where to: an image's name, whose tag is the template's where it has none [default: the setting push_to]
    #[arg(value_name = "DEST")]
    pub(crate) destination: Option<String>,
}

const PUSH_EXAMPLES: &str = "\
Examples:
  abx template push shop:v1.0 acr://registry.example/team/shop
  abx template push shop:v1.0 registry.example/team/shop:stable
  abx create acr://registry.example/team/shop:v1.0";
