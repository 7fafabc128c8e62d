//! Second names of built-in templates.

/// Alias and what it stands for.
pub const ALIASES: &[(&str, &str)] =
    &[("python", "python-base"), ("code-interpreter-v1", "code-interpreter")];

/// What `name` stands for: itself unless it is an alias.
pub fn resolve(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, target)| target)
}
