//! A private authority, given as a value.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use abx_core::host::HostNetwork;
use abx_image::http;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Answers 404 to one request a connection, over TLS, and names the bundle that trusts it.
fn server(dir: &std::path::Path) -> (SocketAddr, PathBuf) {
    let key = || KeyPair::generate().expect("key");
    let mut authority = CertificateParams::new(Vec::new()).expect("authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, key()).expect("authority");
    let bundle = dir.join("ca.pem");
    std::fs::write(&bundle, format!("# a private authority\n{}", authority.pem())).expect("write");

    let leaf_key = key();
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("leaf");
    let leaf = leaf.signed_by(&leaf_key, &authority).expect("signed");
    let private = PrivateKeyDer::try_from(leaf_key.serialize_der()).expect("key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], private)
        .expect("certificate");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("address");
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("connection");
            let mut stream = StreamOwned::new(connection, socket);
            let mut request = [0; 4096];
            if stream.read(&mut request).is_ok() {
                let _ =
                    stream.write_all(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    (address, bundle)
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime").block_on(work)
}

#[test]
fn only_the_given_authority_is_trusted() {
    let dir = tempfile::tempdir().expect("tempdir");
    let (address, bundle) = server(dir.path());
    let trusting = HostNetwork { ca_bundle: Some(bundle), ..HostNetwork::default() };
    let url = format!("https://{address}/");
    let get =
        |network: &HostNetwork| run(async { http::client(network).expect("client").get(&url).send().await });
    assert_eq!(get(&trusting).expect("trusted").status(), 404);
    let stranger = get(&HostNetwork::default()).expect_err("not trusted");
    assert!(stranger.is_connect(), "{stranger:?}");
}
