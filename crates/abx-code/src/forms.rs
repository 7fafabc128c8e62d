//! A value's forms by MIME type, as a kernel gives them, put under the names of the wire.

use abx_protocol::code::CodeResult;
use serde_json::{Map, Value};

/// Ours: what the helper tells of missing modules. Not for clients.
pub(crate) const INSTALL: &str = "application/vnd.abx.install+json";

/// The result that the forms make up.
pub(crate) fn result(forms: Map<String, Value>, is_main_result: bool) -> CodeResult {
    let mut result = CodeResult { is_main_result, ..CodeResult::default() };
    let mut extra = Map::new();
    for (kind, value) in forms {
        let place = match kind.as_str() {
            "text/plain" => &mut result.text,
            "text/html" => &mut result.html,
            "text/markdown" => &mut result.markdown,
            "text/latex" => &mut result.latex,
            "image/svg+xml" => &mut result.svg,
            "image/png" => &mut result.png,
            "image/jpeg" => &mut result.jpeg,
            "application/pdf" => &mut result.pdf,
            "application/javascript" => &mut result.javascript,
            "application/json" => {
                result.json = Some(value);
                continue;
            }
            "e2b/data" => {
                result.data = Some(value);
                continue;
            }
            "e2b/chart" => {
                result.chart = Some(value);
                continue;
            }
            _ => {
                extra.insert(kind, value);
                continue;
            }
        };
        *place = Some(joined(value));
    }
    for picture in [&mut result.png, &mut result.jpeg, &mut result.pdf].into_iter().flatten() {
        picture.retain(|letter| !letter.is_ascii_whitespace());
    }
    result.text = result.text.map(without_quotes);
    result.extra = (!extra.is_empty()).then_some(extra);
    result
}

/// Some kernels give text as a list of lines.
fn joined(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.to_string(),
    }
}

/// A string shows as itself, not as one writes it in a program.
fn without_quotes(text: String) -> String {
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner.to_owned();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_get_their_names() {
        let rows = [
            (json!({"text/plain": "'a\\'b'"}), json!({"text": "a\\'b"})),
            (json!({"text/plain": "'"}), json!({"text": "'"})),
            (json!({"text/latex": "$x$"}), json!({"latex": "$x$"})),
            (
                json!({"image/png": "aGk=\n", "text/plain": "<Figure>"}),
                json!({"text": "<Figure>", "png": "aGk="}),
            ),
            (json!({"text/html": ["<b>", "x</b>"]}), json!({"html": "<b>x</b>"})),
            (
                json!({"application/json": {"a": 1}, "e2b/data": {"c": [1]}, "e2b/chart": {"type": "line"}}),
                json!({"json": {"a": 1}, "data": {"c": [1]}, "chart": {"type": "line"}}),
            ),
            (json!({"application/x-own": 3}), json!({"extra": {"application/x-own": 3}})),
        ];
        for (forms, mut expect) in rows {
            let Value::Object(forms) = forms else { panic!("an object") };
            expect["is_main_result"] = true.into();
            assert_eq!(json!(result(forms, true)), expect);
        }
    }
}
