//! Query strings.

use std::collections::HashMap;

/// The parameters of a request; of a repeated one the first counts.
pub(crate) struct Query(HashMap<String, String>);

impl Query {
    pub(crate) fn of(uri: &http::Uri) -> Self {
        let mut parameters = HashMap::new();
        for pair in uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            parameters.entry(decode(name)).or_insert_with(|| decode(value));
        }
        Self(parameters)
    }

    /// The parameter, unless absent or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Resolves `%XX` and `+`. Damaged escapes stay as they are, bytes that are not UTF-8 are replaced.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        bytes.push(match (escaped, first) {
            (Some(byte), _) => byte,
            (None, b'+') => b' ',
            (None, byte) => *byte,
        });
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = Query::of(&"/files?path=%2Fa%20b%2Bc+d&username=&x&path=2&e=%zz%4".parse().expect("uri"));
        assert_eq!(query.get("path"), Some("/a b+c d"));
        assert_eq!(query.get("username"), None);
        assert_eq!(query.get("x"), None);
        assert_eq!(query.get("e"), Some("%zz%4"));
    }
}
