//! The one HTTP client configuration.
//!
//! TLS is rustls with the `ring` provider, chosen explicitly: nothing depends on a process-wide default.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use abx_core::host::HostNetwork;
use reqwest::{Client, NoProxy, Proxy};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::ImageError;

pub use reqwest;

/// How long a connection may take: short, so that a caller with a fallback loses little.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long the other side may be silent in the middle of an answer.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);

/// Where distributions keep their bundle of authorities.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A client for this host: its authorities (the given bundle, else the system's), its proxies, `abx/VERSION`
/// as user agent, no total time limit but [`CONNECT_TIMEOUT`] and [`SILENCE_TIMEOUT`].
///
/// A host without any bundle gets a client that can speak plain HTTP only.
pub fn client(network: &HostNetwork) -> Result<Client, ImageError> {
    builder(network)?.build().map_err(|source| ImageError::Tls { source: source.into() })
}

/// [`client`] before it is built, for callers that want another redirect policy or time limits.
pub fn builder(network: &HostNetwork) -> Result<reqwest::ClientBuilder, ImageError> {
    let mut builder = Client::builder()
        .user_agent(concat!("abx/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(SILENCE_TIMEOUT)
        .tls_backend_preconfigured(tls(network.ca_bundle.as_deref())?)
        .no_proxy();
    for proxy in proxies(network)? {
        builder = builder.proxy(proxy);
    }
    Ok(builder)
}

fn tls(bundle: Option<&Path>) -> Result<rustls::ClientConfig, ImageError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|source| ImageError::Tls { source: source.into() })?
        .with_root_certificates(authorities(bundle)?)
        .with_no_client_auth();
    Ok(config)
}

fn authorities(bundle: Option<&Path>) -> Result<rustls::RootCertStore, ImageError> {
    let system = || BUNDLES.iter().map(PathBuf::from).find(|path| path.exists());
    let mut roots = rustls::RootCertStore::empty();
    let Some(path) = bundle.map(Path::to_owned).or_else(system) else { return Ok(roots) };
    let unusable = |reason: String| ImageError::CertificateBundle { path: path.clone(), reason };
    let file = std::fs::File::open(&path).map_err(|error| unusable(error.to_string()))?;
    let certificates = CertificateDer::pem_reader_iter(BufReader::new(file))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unusable(error.to_string()))?;
    // Bundles carry certificates no verifier accepts (old versions, odd names); the others still count.
    let (added, _) = roots.add_parsable_certificates(certificates);
    match added {
        0 => Err(unusable("it holds no usable certificate".to_owned())),
        _ => Ok(roots),
    }
}

/// The proxies of the host, each with its exceptions. This machine itself is never reached through a proxy.
fn proxies(network: &HostNetwork) -> Result<Vec<Proxy>, ImageError> {
    let value = |name: &str| {
        network
            .proxies
            .iter()
            .find(|(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    };
    let exceptions = format!("localhost,127.0.0.0/8,::1,{}", value("no_proxy").unwrap_or_default());
    let mut proxies = Vec::new();
    type Make = fn(String) -> reqwest::Result<Proxy>;
    let kinds: [(&str, Make); 3] =
        [("http_proxy", Proxy::http), ("https_proxy", Proxy::https), ("all_proxy", Proxy::all)];
    for (variable, make) in kinds {
        let Some(address) = value(variable) else { continue };
        // The cause would quote the address, which may hold a password.
        let malformed = |_| ImageError::Proxy { variable: variable.to_owned() };
        let proxy = make(address.to_owned()).map_err(malformed)?;
        proxies.push(proxy.no_proxy(NoProxy::from_string(&exceptions)));
    }
    Ok(proxies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_core::Fault;

    #[test]
    fn a_bundle_without_certificates_is_named() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("ca.pem");
        std::fs::write(&path, "no certificate\n").expect("write");
        let network = HostNetwork { ca_bundle: Some(path.clone()), ..HostNetwork::default() };
        let error = client(&network).expect_err("nothing to trust");
        assert!(error.to_string().contains("ca.pem"), "{error}");
        assert_eq!(error.code().as_str(), "E5000");
    }

    #[test]
    fn a_malformed_proxy_is_named_without_its_value() {
        let proxies = vec![("https_proxy".to_owned(), "http://user:secret@[".to_owned())];
        let error = client(&HostNetwork { proxies, ..HostNetwork::default() }).expect_err("malformed");
        assert!(error.to_string().contains("https_proxy"), "{error}");
        assert!(!format!("{error:?}").contains("secret"));
    }
}
