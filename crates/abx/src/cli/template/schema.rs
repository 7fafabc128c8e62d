use clap::Args;

/// Print the JSON Schema of a template.yaml, for editors
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SchemaArgs {}

const EXAMPLES: &str = "\
Examples:
  abx template schema > template.schema.json
  # then, as the first line of a template.yaml:
  # yaml-language-server: $schema=./template.schema.json";
