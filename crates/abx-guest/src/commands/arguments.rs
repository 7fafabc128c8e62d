//! Values of a request, taken by the types an executable declares.

use serde_json::{Map, Value};

use super::executable::Argument;

/// What the executable gets.
///
/// # Errors
/// The kind of error and its words, where one is missing, unknown, or not of its type.
pub(super) fn coerced(
    declared: &[Argument],
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, (&'static str, String)> {
    if let Some(unknown) = given.keys().find(|name| declared.iter().all(|each| each.name != **name)) {
        let known: Vec<&str> = declared.iter().map(|each| each.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(("ValueError", format!("unexpected argument '{unknown}'; it takes {known}")));
    }
    let mut values = Map::new();
    for argument in declared {
        let value = match given.get(&argument.name) {
            Some(value) => value,
            None if argument.required => {
                return Err(("ValueError", format!("required argument '{}' is missing", argument.name)));
            }
            None if argument.default.is_null() => continue,
            None => &argument.default,
        };
        let value = taken(&argument.kind, value).ok_or_else(|| {
            let kind = &argument.kind;
            ("TypeError", format!("argument '{}': {value} is not of type {kind}", argument.name))
        })?;
        values.insert(argument.name.clone(), value);
    }
    Ok(values)
}

/// A boolean is no number, words for booleans are few, numbers may be written as text.
fn taken(kind: &str, value: &Value) -> Option<Value> {
    match (kind, value) {
        ("json", value) => Some(value.clone()),
        ("string", Value::String(_)) => Some(value.clone()),
        ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::from(value.to_string())),
        ("integer", Value::Number(number)) if number.is_i64() || number.is_u64() => Some(value.clone()),
        ("integer", Value::String(text)) => text.trim().parse::<i64>().ok().map(Value::from),
        ("float", Value::Number(_)) => Some(value.clone()),
        ("float", Value::String(text)) => text.trim().parse::<f64>().ok().map(Value::from),
        ("boolean", Value::Bool(_)) => Some(value.clone()),
        ("boolean", Value::String(_) | Value::Number(_)) => {
            match value.to_string().trim_matches('"').trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "1" => Some(Value::Bool(true)),
                "false" | "no" | "0" => Some(Value::Bool(false)),
                _ => None,
            }
        }
        ("string_array", Value::Array(items)) => items.iter().all(Value::is_string).then(|| value.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_taken_by_their_declared_type() {
        let rows = [
            ("integer", json!("7"), Some(json!(7))),
            ("integer", json!(true), None),
            ("integer", json!(7.5), None),
            ("float", json!("0.5"), Some(json!(0.5))),
            ("boolean", json!("Yes"), Some(json!(true))),
            ("boolean", json!(0), Some(json!(false))),
            ("boolean", json!(2), None),
            ("string", json!(7), Some(json!("7"))),
            ("string", json!([]), None),
            ("string_array", json!(["a"]), Some(json!(["a"]))),
            ("string_array", json!([1]), None),
            ("json", json!({"a": 1}), Some(json!({"a": 1}))),
        ];
        for (kind, value, expect) in rows {
            assert_eq!(taken(kind, &value), expect, "{kind} {value}");
        }
    }

    #[test]
    fn what_is_missing_or_unknown_is_told() {
        let declared: Vec<Argument> = serde_json::from_value(json!([
            {"name": "n", "type": "integer", "required": true}, {"name": "s", "default": "none"}, {"name": "t"},
        ]))
        .expect("arguments");
        let given = |value: Value| coerced(&declared, value.as_object().expect("an object"));
        assert_eq!(
            given(json!({"n": 1})).expect("fine"),
            *json!({"n": 1, "s": "none"}).as_object().expect("object")
        );
        assert_eq!(given(json!({})).expect_err("missing").1, "required argument 'n' is missing");
        let unknown = given(json!({"n": 1, "x": 2})).expect_err("unknown").1;
        assert_eq!(unknown, "unexpected argument 'x'; it takes n, s, t");
        assert_eq!(given(json!({"n": "x"})).expect_err("another type").0, "TypeError");
    }
}
