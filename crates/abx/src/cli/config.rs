use agent_sandbox::settings::key::KEYS;
use agent_sandbox::settings::secrets::SECRETS;
use clap::{Args, Subcommand};

/// Show and change settings, store secrets
///
/// Settings are kept in ~/.abx/config.toml, secrets in ~/.abx/.env, which only you can read. A variable of the
/// environment goes before a setting: ABX_CACHE_TTL before cache_ttl.
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_long_help = keys())]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// The verbs on settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    Set(ConfigSetArgs),
    Get(ConfigGetArgs),
    List(ConfigListArgs),
    Unset(ConfigUnsetArgs),
}

/// Change a setting or store a secret
///
/// The value of a secret is asked for and not shown, or read from standard input.
#[derive(Debug, Args)]
#[command(after_help = SET_EXAMPLES, after_long_help = format!("{SET_EXAMPLES}\n\n{}", keys()))]
pub(crate) struct ConfigSetArgs {
    /// Its name
    #[arg(value_name = "KEY")]
    pub(crate) key: String,

    /// What it is to be; best left out for a secret, as shells keep what was typed
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) value: Option<String>,
}

const SET_EXAMPLES: &str = "\
Examples:
  abx config set cache_ttl 1h
  abx config set registry.docker.io.mirror 127.0.0.1:5000
  abx config set github_token                      asks for it
  abx config set github_token < token.txt";

/// Print what a setting is now; stars for a secret
#[derive(Debug, Args)]
#[command(after_help = GET_EXAMPLES)]
pub(crate) struct ConfigGetArgs {
    /// Its name
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
}

const GET_EXAMPLES: &str = "\
Examples:
  abx config get limits.memory_max
  abx config get github_token --json";

/// List all settings, what they are and where that comes from
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ConfigListArgs {}

const LIST_EXAMPLES: &str = "\
Examples:
  abx config list
  abx config list --json";

/// Go back to a setting's default, or forget a secret
#[derive(Debug, Args)]
#[command(after_help = UNSET_EXAMPLES)]
pub(crate) struct ConfigUnsetArgs {
    /// Its name
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
}

const UNSET_EXAMPLES: &str = "\
Examples:
  abx config unset cache_ttl
  abx config unset github_token";

/// A line for each key.
fn keys() -> String {
    let plain = KEYS.iter().map(|key| (key.name, key.help));
    let secrets = SECRETS.iter().map(|secret| (secret.name, secret.help));
    let rows: Vec<(&str, &str)> = plain.chain(secrets).collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = rows.iter().map(|(name, help)| format!("\n  {name:width$}  {help}"));
    format!("Settings:{}", lines.collect::<String>())
}
