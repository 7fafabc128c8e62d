//! What registries send, and files that say how to log in to them.

use abx_image::probe;
use abx_image::registry::docker_config::{DockerConfig, Found, helper_answer, is_helper_name};

use crate::place;

/// Manifests and indexes: digests that are taken are digests, and what is written is read as the same.
pub fn manifest(bytes: &[u8]) {
    let Ok((digests, written)) = probe::manifest(bytes) else { return };
    for digest in digests.iter().flatten() {
        let hex = digest.to_string();
        let hex = hex.strip_prefix("sha256:").unwrap_or_default();
        assert!(hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()), "{digest} is no digest");
    }
    assert_eq!(probe::manifest(&written), Ok((digests, written.clone())), "written and read it differs");
}

/// Configurations: what is written is read as the same.
pub fn image_config(bytes: &[u8]) {
    let Ok((config, diff_ids)) = probe::config(bytes) else { return };
    assert_eq!(config.history.len(), diff_ids.len(), "a line for each layer");
    let written = probe::write(&config, &diff_ids);
    assert_eq!(probe::config(&written), Ok((config, diff_ids)), "written and read it differs");
}

/// Docker's configuration, answers of credential helpers and challenges; what is wrong with them is said without
/// what they hold.
pub fn log_in(bytes: &[u8]) {
    if let Some(values) = probe::challenge(bytes) {
        let text = String::from_utf8_lossy(bytes);
        assert!(
            values.iter().flatten().all(|value| text.contains(value.as_str())),
            "{values:?} was never sent"
        );
    }
    let _ = helper_answer(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match DockerConfig::parse(text) {
        Ok(config) => asked(&config),
        Err(error) => place::one_line(&error),
    }
}

fn asked(config: &DockerConfig) {
    for (registry, repository) in
        [("docker.io", "library/debian"), ("registry.example", "a/b/c"), ("localhost:5000", "x")]
    {
        match config.find(registry, repository) {
            Ok(found) => {
                assert!(found.len() <= 2, "a helper and the file itself");
                for found in found {
                    if let Found::Helper { name, .. } = found {
                        assert!(!name.is_empty(), "a helper without a name");
                        assert!(!is_helper_name(&name) || !name.contains('/'), "{name} is a path");
                    }
                }
            }
            Err(error) => place::one_line(&error),
        }
    }
}
