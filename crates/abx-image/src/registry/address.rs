//! Where a registry is.

use reqwest::Url;

use super::Registry;
use crate::ImageError;

/// The address of a registry or mirror as the settings write it.
pub(super) fn root(address: &str, entry: Option<&Registry>) -> Result<Url, ImageError> {
    let malformed = || ImageError::RegistryAddress { address: address.to_owned() };
    let with_scheme = |scheme: &str| Url::parse(&format!("{scheme}://{address}")).map_err(|_| malformed());
    let url = match address.contains("://") {
        true => Url::parse(address).map_err(|_| malformed())?,
        false => match with_scheme("https")? {
            url if entry.is_some_and(|entry| entry.insecure) || is_loopback(&url) => with_scheme("http")?,
            url => url,
        },
    };
    match matches!(url.scheme(), "http" | "https") && url.host_str().is_some() {
        true => Ok(url),
        false => Err(malformed()),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let address = host.trim_start_matches('[').trim_end_matches(']');
            address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}
