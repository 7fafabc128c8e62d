//! Words as a user types them, and the types that are declared → JSON values.

use serde_json::{Map, Value};

use super::{Argument, CommandError, NamedCommand};

/// What was typed: `K=V`, taken by the declared type, and `K=JSON`, taken as it is. Pure data, in the order typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    pub text: Vec<(String, String)>,
    pub json: Vec<(String, Value)>,
}

impl Words {
    /// For a command whose types are not known: the service takes words by the type it has.
    pub(super) fn untyped(&self) -> Map<String, Value> {
        let text = self.text.iter().map(|(name, word)| (name.clone(), Value::from(word.clone())));
        text.chain(self.json.iter().cloned()).collect()
    }
}

/// The arguments of a call. A word that is repeated makes a list, where a list is wanted.
///
/// # Errors
/// One that is unknown, missing, there twice, or not of its type.
pub(super) fn typed(command: &NamedCommand, words: &Words) -> Result<Map<String, Value>, CommandError> {
    let refused = |problem: String| CommandError::Arguments {
        name: command.name.clone(),
        problem,
        signature: Some(command.to_string()),
    };
    let mut values = Map::new();
    for (name, word) in &words.text {
        let Some(argument) = command.argument(name) else {
            values.insert(name.clone(), Value::from(word.clone()));
            continue;
        };
        let value = typed_word(argument, word).map_err(refused)?;
        match (values.get_mut(name), value) {
            (Some(Value::Array(items)), Value::Array(more)) if argument.kind == "string_array" => {
                items.extend(more);
            }
            (Some(_), _) => return Err(refused(format!("`{name}` is given twice"))),
            (None, value) => {
                values.insert(name.clone(), value);
            }
        }
    }
    for (name, value) in &words.json {
        if values.insert(name.clone(), value.clone()).is_some() {
            return Err(refused(format!("`{name}` is given twice")));
        }
    }
    let unknown = values.keys().find(|name| command.argument(name).is_none());
    let missing =
        command.arguments.iter().find(|argument| argument.required && !values.contains_key(&argument.name));
    match (missing, unknown) {
        (Some(missing), Some(unknown)) => {
            Err(refused(format!("`{}` is missing, and `{unknown}` is none of them", missing.name)))
        }
        (Some(missing), None) => Err(refused(format!("`{}` is missing", missing.name))),
        // It may take what it does not declare.
        (None, _) => Ok(values),
    }
}

fn typed_word(argument: &Argument, word: &str) -> Result<Value, String> {
    let no = |what: &str| format!("`{}` is {what}, which `{word}` is not", argument.name);
    match argument.kind.as_str() {
        "integer" => word.trim().parse::<i64>().map(Value::from).or_else(|_| {
            // Larger ones than ours are for the command to take.
            let is_number =
                word.trim().trim_start_matches(['-', '+']).bytes().all(|byte| byte.is_ascii_digit());
            if is_number && word.len() > 18 { Ok(Value::from(word.trim())) } else { Err(no("an integer")) }
        }),
        "float" => word.trim().parse::<f64>().map_err(|_| no("a number")).map(|number| {
            // JSON has no infinity; the service takes the word.
            serde_json::Number::from_f64(number).map_or_else(|| Value::from(word.trim()), Value::Number)
        }),
        "boolean" => match word.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Ok(Value::Bool(true)),
            "false" | "no" | "0" => Ok(Value::Bool(false)),
            _ => Err(no("a boolean (true, false, yes, no, 1, 0)")),
        },
        "string_array" => Ok(match serde_json::from_str(word) {
            Ok(Value::Array(items)) => Value::Array(items),
            _ => Value::Array(vec![Value::from(word)]),
        }),
        "json" => serde_json::from_str(word)
            .map_err(|error| format!("`{}` is JSON, which `{word}` is not: {error}", argument.name)),
        _ => Ok(Value::from(word)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_taken_by_the_declared_type() {
        let command: NamedCommand = serde_json::from_value(json!({"name": "c", "args": [
            {"name": "s", "type": "string"}, {"name": "i", "type": "integer"}, {"name": "f", "type": "float"},
            {"name": "b", "type": "boolean"}, {"name": "l", "type": "string_array"}, {"name": "j", "type": "json"},
        ]}))
        .expect("a command");
        type Row<'a> = (&'a [(&'a str, &'a str)], Result<Value, &'a str>);
        let rows: &[Row<'_>] = &[
            (&[("s", "7")], Ok(json!({"s": "7"}))),
            (&[("s", "")], Ok(json!({"s": ""}))),
            (&[("i", " -7 ")], Ok(json!({"i": -7}))),
            (&[("i", "123456789012345678901")], Ok(json!({"i": "123456789012345678901"}))),
            (&[("i", "7.5")], Err("`i` is an integer, which `7.5` is not")),
            (&[("f", "1e3")], Ok(json!({"f": 1000.0}))),
            (&[("f", "inf")], Ok(json!({"f": "inf"}))),
            (&[("f", "x")], Err("`f` is a number, which `x` is not")),
            (&[("b", "Yes")], Ok(json!({"b": true}))),
            (&[("b", "0")], Ok(json!({"b": false}))),
            (&[("b", "2")], Err("`b` is a boolean (true, false, yes, no, 1, 0), which `2` is not")),
            (&[("l", "a,b")], Ok(json!({"l": ["a,b"]}))),
            (&[("l", "a"), ("l", "b")], Ok(json!({"l": ["a", "b"]}))),
            (&[("l", r#"["a", "b"]"#)], Ok(json!({"l": ["a", "b"]}))),
            (&[("j", r#"{"k": [1]}"#)], Ok(json!({"j": {"k": [1]}}))),
            (&[("s", "a"), ("s", "b")], Err("`s` is given twice")),
            (&[("other", "1")], Ok(json!({"other": "1"}))),
        ];
        for (words, expect) in rows {
            let text = words.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect();
            let seen = typed(&command, &Words { text, ..Words::default() });
            match (seen, expect) {
                (Ok(seen), Ok(expect)) => assert_eq!(Value::Object(seen), *expect, "{words:?}"),
                (Err(CommandError::Arguments { problem, .. }), Err(expect)) => {
                    assert_eq!(problem, *expect, "{words:?}");
                }
                (seen, expect) => panic!("{words:?}: {seen:?}, not {expect:?}"),
            }
        }
    }

    #[test]
    fn one_that_is_required_must_be_there() {
        let command: NamedCommand = serde_json::from_value(json!({"name": "c", "args": [
            {"name": "n", "type": "integer", "required": true}]}))
        .expect("a command");
        let error = typed(&command, &Words::default()).expect_err("missing");
        assert_eq!(error.to_string(), "`c` does not take these arguments: `n` is missing");
        let text = vec![("m".to_owned(), "1".to_owned())];
        let error = typed(&command, &Words { text, ..Words::default() }).expect_err("another");
        assert!(error.to_string().ends_with("`n` is missing, and `m` is none of them"), "{error}");
        let json = vec![("n".to_owned(), json!(1))];
        assert!(typed(&command, &Words { json, ..Words::default() }).is_ok());
    }
}
