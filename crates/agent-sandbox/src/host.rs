//! Reads how this host reaches package archives: its certificates, proxies and mirrors.
//!
//! What it finds reaches build steps and running sandboxes and is never stored in an image.

use std::path::{Path, PathBuf};

use abx_core::host::{DebianMirrors, HostNetwork};

/// Where distributions keep the bundle of trusted authorities.
const CA_BUNDLES: [&str; 4] = [
    "etc/ssl/certs/ca-certificates.crt",
    "etc/pki/tls/certs/ca-bundle.crt",
    "etc/ssl/ca-bundle.pem",
    "etc/ssl/cert.pem",
];

/// Variables of package tools that are handed on as they are.
const TOOL_VARIABLES: [&str; 12] = [
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "PIP_DEFAULT_TIMEOUT",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_INSECURE_HOST",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "GOPROXY",
    "GOSUMDB",
];

/// Looks below `root` (`/`, or a test's folder) and at the variables `var` knows.
pub fn discover(root: &Path, var: &dyn Fn(&str) -> Option<String>) -> HostNetwork {
    let var = |name: &str| var(name).filter(|value| !value.is_empty());
    let home = var("HOME").map(PathBuf::from);
    HostNetwork {
        ca_bundle: ca_bundle(root, &var),
        proxies: proxies(&var),
        tool_env: tool_env(root, home.as_deref(), &var),
        debian: debian(root),
    }
}

fn ca_bundle(root: &Path, var: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let named = var("SSL_CERT_FILE").map(PathBuf::from);
    named.into_iter().chain(CA_BUNDLES.map(|path| root.join(path))).find(|path| path.is_file())
}

fn proxies(var: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), var(name).or_else(|| var(&name.to_uppercase()))?)))
        .collect()
}

fn tool_env(root: &Path, home: Option<&Path>, var: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let mut env: Vec<(String, String)> =
        TOOL_VARIABLES.into_iter().filter_map(|name| Some((name.to_owned(), var(name)?))).collect();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value
            && !env.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            env.push((name.to_owned(), value));
        }
    };
    let in_home = |path: &str| home.map(|home| home.join(path));
    let pip: Vec<String> =
        [Some(root.join("etc/pip.conf")), in_home(".pip/pip.conf"), in_home(".config/pip/pip.conf")]
            .into_iter()
            .flatten()
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .collect();
    for (key, name) in [
        ("index-url", "PIP_INDEX_URL"),
        ("extra-index-url", "PIP_EXTRA_INDEX_URL"),
        ("trusted-host", "PIP_TRUSTED_HOST"),
    ] {
        // Later files win, as in pip.
        add(name, pip.iter().rev().find_map(|text| ini_value(text, key)));
    }
    let npm: Vec<String> =
        [Some(root.join("etc/npmrc")), Some(root.join("usr/etc/npmrc")), in_home(".npmrc")]
            .into_iter()
            .flatten()
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .collect();
    add("npm_config_registry", npm.iter().rev().find_map(|text| ini_value(text, "registry")));
    // uv does not read pip's configuration.
    let value = |name: &str| env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let index =
        value("PIP_INDEX_URL").filter(|_| value("UV_DEFAULT_INDEX").or(value("UV_INDEX_URL")).is_none());
    env.extend(index.map(|index| ("UV_DEFAULT_INDEX".to_owned(), index)));
    env
}

/// The value of `key = value` in an ini file, whichever section; pip spells keys with `-` or `_`.
fn ini_value(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim();
        (name.trim().replace('_', "-") == key && !value.is_empty()).then(|| value.to_owned())
    })
}

fn debian(root: &Path) -> DebianMirrors {
    let mut files = vec![root.join("etc/apt/sources.list")];
    if let Ok(entries) = std::fs::read_dir(root.join("etc/apt/sources.list.d")) {
        let mut more: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        more.sort();
        files.extend(more);
    }
    let texts: Vec<String> = files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect();
    abx_debian::mirrors_from_apt(texts.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
        std::fs::write(path, text).expect("write");
    }

    #[test]
    fn configuration_files_and_variables_are_found_and_variables_win() {
        let root = tempfile::tempdir().expect("tempdir");
        write(root.path(), "etc/pip.conf", "[global]\nindex-url = http://pip.corp/simple\n");
        write(root.path(), "etc/npmrc", "registry=http://npm.corp/\n");
        write(root.path(), "etc/ssl/certs/ca-certificates.crt", "x");
        let found = discover(root.path(), &|name| match name {
            "HTTPS_PROXY" => Some("http://proxy:3128".into()),
            "npm_config_registry" => Some("http://other/".into()),
            _ => None,
        });
        assert_eq!(found.ca_bundle, Some(root.path().join("etc/ssl/certs/ca-certificates.crt")));
        assert_eq!(found.proxies, [("https_proxy".to_owned(), "http://proxy:3128".to_owned())]);
        let value =
            |name: &str| found.tool_env.iter().find(|(known, _)| known == name).map(|(_, v)| v.as_str());
        assert_eq!(value("PIP_INDEX_URL"), Some("http://pip.corp/simple"));
        assert_eq!(value("UV_DEFAULT_INDEX"), Some("http://pip.corp/simple"));
        assert_eq!(value("npm_config_registry"), Some("http://other/"));
    }

    #[test]
    fn a_bare_host_yields_nothing() {
        let root = tempfile::tempdir().expect("tempdir");
        assert_eq!(discover(root.path(), &|_| None), HostNetwork::default());
    }
}
