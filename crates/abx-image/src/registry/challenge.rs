//! What a registry asks for with a 401.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

/// How to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// User and password with each request.
    Basic,
    /// A token from this address.
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    /// The strongest challenge in an answer that we can meet.
    pub(crate) fn find(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let challenges: Vec<_> = values.filter_map(Self::parse).collect();
        let bearer = challenges.iter().find(|challenge| matches!(challenge, Self::Bearer { .. }));
        bearer.or(challenges.first()).cloned()
    }

    fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let parameters = parameters(rest);
        let value = |name: &str| {
            let found = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone())
        };
        Some(Self::Bearer { realm: value("realm")?, service: value("service"), scope: value("scope") })
    }
}

/// `key="value", key=value`: a quoted value may hold commas.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut parameters = Vec::new();
    let mut rest = text;
    while let Some((key, after)) = rest.split_once('=') {
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => {
                let end = after.find(',').unwrap_or(after.len());
                (after[..end].trim(), &after[end..])
            }
        };
        parameters.push((key.trim().to_owned(), value.to_owned()));
        rest = after.trim_start().trim_start_matches(',');
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let text =
            r#"Bearer realm="https://auth.example/token",service="reg",scope="repository:a/b:pull,push""#;
        let expected = Challenge::Bearer {
            realm: "https://auth.example/token".into(),
            service: Some("reg".into()),
            scope: Some("repository:a/b:pull,push".into()),
        };
        assert_eq!(Challenge::parse(text), Some(expected));
        assert_eq!(Challenge::parse("Basic realm=x"), Some(Challenge::Basic));
        assert_eq!(Challenge::parse("basic"), Some(Challenge::Basic));
        for text in ["", "Bearer", "Bearer service=x", "Negotiate", "Bearer realm", "Bearer realm=\"x"] {
            let parsed = Challenge::parse(text);
            assert!(parsed.is_none() || text.ends_with("=\"x"), "{text}: {parsed:?}");
        }
    }
}
