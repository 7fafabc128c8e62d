//! What a command takes, as the service inside lists it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A command that can be called by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedCommand {
    pub name: String,
    #[serde(rename = "args")]
    pub arguments: Vec<Argument>,
    pub description: String,
}

/// One of its arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Argument {
    pub name: String,
    /// `string`, `integer`, `float`, `boolean`, `string_array` or `json`.
    #[serde(rename = "type")]
    pub kind: String,
    pub required: bool,
    /// In words; none where the command has it to itself.
    #[serde(deserialize_with = "text")]
    pub default: Option<String>,
    pub description: String,
    /// The only values, where they are few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Value>>,
}

/// Servers of others may give a default as it is.
fn text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    })
}

impl NamedCommand {
    /// The argument of that name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}

/// `greet(name: string, times: integer = 1)`.
impl fmt::Display for NamedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments: Vec<String> = self.arguments.iter().map(Argument::to_string).collect();
        write!(f, "{}({})", self.name, arguments.join(", "))
    }
}

/// `times: integer = 1`, `kind: a|b`, `label?: string`.
impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let optional = if self.required || self.default.is_some() { "" } else { "?" };
        write!(f, "{}{optional}: ", self.name)?;
        match &self.choices {
            Some(choices) => f.write_str(&choices.iter().map(plain).collect::<Vec<_>>().join("|"))?,
            None => f.write_str(match self.kind.as_str() {
                "string_array" => "string[]",
                kind => kind,
            })?,
        }
        match &self.default {
            // Python's words for what JSON has its own for.
            Some(default) if self.kind == "boolean" => write!(f, " = {}", default.to_lowercase()),
            Some(default) if self.kind == "string" => write!(f, " = {default:?}"),
            Some(default) => write!(f, " = {default}"),
            None => Ok(()),
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_reads_like_one() {
        let rows = [
            (r#"{"name":"a"}"#, "a()"),
            (r#"{"name":"a","args":[{"name":"n","type":"integer","required":true}]}"#, "a(n: integer)"),
            (
                r#"{"name":"a","args":[{"name":"b","type":"boolean","default":"True"},{"name":"s","type":"string","default":""},
                    {"name":"l","type":"string_array"},{"name":"n","type":"integer","default":7}]}"#,
                r#"a(b: boolean = true, s: string = "", l?: string[], n: integer = 7)"#,
            ),
            (
                r#"{"name":"a","args":[{"name":"k","type":"string","required":true,"choices":["x","y"]}]}"#,
                "a(k: x|y)",
            ),
        ];
        for (listed, shown) in rows {
            let command: NamedCommand = serde_json::from_str(listed).expect(listed);
            assert_eq!(command.to_string(), shown);
        }
    }
}
