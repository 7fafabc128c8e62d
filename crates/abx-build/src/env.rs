//! Environment variables: who sees which.

/// Prefixes of the variables that steer package tools.
const STEERING: [&str; 7] = ["DEBIAN_", "APT_", "PIP_", "UV_", "NPM_", "npm_config_", "DEBCONF_"];
const PROXIES: [&str; 5] = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"];

/// Where programs are looked for in an image that does not say.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Names and values in order; a name occurs once.
pub(crate) type Env = Vec<(String, String)>;

/// The value of `name`.
pub(crate) fn get<'a>(env: &'a [(String, String)], name: &str) -> Option<&'a str> {
    env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Sets `name`, in its old place where it has one.
pub(crate) fn set(env: &mut Env, name: &str, value: impl Into<String>) {
    match env.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value.into(),
        None => env.push((name.to_owned(), value.into())),
    }
}

/// Whether a shell takes it as a variable's name.
pub(crate) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a variable steers package tools, so that package steps see it.
pub(crate) fn steers(name: &str) -> bool {
    STEERING.iter().any(|prefix| name.starts_with(prefix))
        || PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers() {
        for name in ["DEBIAN_FRONTEND", "PIP_INDEX_URL", "npm_config_registry", "HTTPS_PROXY", "no_proxy"] {
            assert!(steers(name), "{name}");
        }
        for name in ["PATH", "LANG", "PIPELINE", "MY_PIP_X"] {
            assert!(!steers(name), "{name}");
        }
    }
}
