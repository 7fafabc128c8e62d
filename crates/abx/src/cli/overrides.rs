use clap::{Args, ValueEnum};

use abx_core::egress::Target;

use super::values::{KeyValue, Megabytes, PortPair, parse_cpu, parse_target};

/// What a caller wants otherwise than the template says.
#[derive(Clone, Debug, Args)]
pub(crate) struct OverrideArgs {
    /// Set an environment variable in the sandbox (repeatable)
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<KeyValue>,

    /// Processor cores, a fraction is fine
    #[arg(long, value_name = "N", value_parser = parse_cpu)]
    pub(crate) cpu: Option<f64>,

    /// Memory limit in MB, or with a unit (4GiB)
    #[arg(long, value_name = "MB")]
    pub(crate) memory: Option<Megabytes>,

    /// Disk limit in MB, or with a unit (20GiB)
    #[arg(long, value_name = "MB")]
    pub(crate) disk: Option<Megabytes>,

    /// End the sandbox after so many seconds; 0 for never
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<u64>,

    /// End it (pause it, if persistent) after so many seconds without use; 0 for never
    #[arg(long, value_name = "S")]
    pub(crate) idle_timeout: Option<u64>,

    /// Forward a port of this host's loopback into the sandbox, 0 for any free one (repeatable)
    #[arg(long, value_name = "HOST:GUEST")]
    pub(crate) port: Vec<PortPair>,

    /// `none` cuts the sandbox off; `default` lets it reach out
    #[arg(long, value_enum, value_name = "none|default", hide_possible_values = true)]
    pub(crate) network: Option<NetworkArg>,

    /// Grant these capabilities and no others, instead of the template's own: shell,files,code,…
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) capabilities: Option<Vec<String>>,

    /// Let it reach this: a name, `*.name`, an address or a network, each with `:PORT` if need be (repeatable)
    #[arg(long, value_name = "TARGET", value_parser = parse_target)]
    pub(crate) allow_out: Vec<Target>,

    /// Keep it from reaching this, unless --allow-out names it; `*` is everything (repeatable)
    #[arg(long, value_name = "TARGET", value_parser = parse_target)]
    pub(crate) deny_out: Vec<Target>,
}

/// Reach of the sandbox's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NetworkArg {
    None,
    Default,
}
