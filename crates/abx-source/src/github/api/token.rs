//! Which hosts see the token.

use abx_image::http::reqwest::Url;

/// The API's own origin may, and over https the sibling that hands out its archives.
pub(super) fn may_see_token(base: &Url, target: &Url) -> bool {
    if base.port_or_known_default() != target.port_or_known_default() || base.scheme() != target.scheme() {
        return false;
    }
    let (Some(base_host), Some(host)) = (base.host_str(), target.host_str()) else { return false };
    let sibling = format!("codeload.{}", base_host.strip_prefix("api.").unwrap_or(base_host));
    host == base_host || (target.scheme() == "https" && host == sibling)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_stays_with_the_api_and_its_archive_host() {
        for (base, target, expected) in [
            ("https://api.github.com", "https://api.github.com/x", true),
            ("https://api.github.com", "https://codeload.github.com/x", true),
            ("https://api.github.com", "http://codeload.github.com/x", false),
            ("https://api.github.com", "http://api.github.com/x", false),
            ("https://api.github.com", "https://codeload.github.com:8443/x", false),
            ("https://api.github.com", "https://github.com/x", false),
            ("https://api.github.com", "https://api.github.com.evil.example/x", false),
            ("https://api.github.com", "https://codeload.github.com.evil.example/x", false),
            ("https://ghe.example/api/v3", "https://ghe.example/_codeload/x", true),
            ("https://ghe.example/api/v3", "https://codeload.ghe.example/x", true),
            ("http://127.0.0.1:1/api", "http://127.0.0.1:1/x", true),
            ("http://127.0.0.1:1/api", "http://127.0.0.1:2/x", false),
            ("http://127.0.0.1:1/api", "http://localhost:1/x", false),
            ("http://ghe.example", "http://codeload.ghe.example/x", false),
        ] {
            let url = |text| Url::parse(text).expect(text);
            assert_eq!(may_see_token(&url(base), &url(target)), expected, "{base} to {target}");
        }
    }
}
