//! A tiny archive with self-made packages, signed by a throwaway key, on a loopback port.

use std::collections::HashMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use pgp::composed::{ArmorOptions, CleartextSignedMessage, KeyType, SecretKeyParamsBuilder, SignedSecretKey};
use pgp::types::Password;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::architecture::Architecture;
use crate::digest::Checksum;

/// What the server answers for one path.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) body: Vec<u8>,
    /// What the header says, which need not be true.
    pub(super) length: usize,
}

impl Answer {
    fn whole(body: Vec<u8>) -> Self {
        Self { length: body.len(), body }
    }
}

type Answers = Arc<Mutex<HashMap<String, Answer>>>;

/// A running archive.
pub(super) struct FakeArchive {
    pub(super) key: SignedSecretKey,
    pub(super) address: SocketAddr,
    answers: Answers,
    server: tokio::task::JoinHandle<()>,
}

/// Where the packages of [`FakeArchive::start`] lie.
pub(super) const APT: &str = "/debian/pool/main/apt_1.0_all.deb";

impl FakeArchive {
    /// Serves bookworm with `apt` (which has a program, a manual page, a link and a configuration file) and
    /// `debian-archive-keyring`; the security suite has a newer `apt`-less index.
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let address = listener.local_addr().expect("address");
        let answers = Answers::default();
        let server = tokio::spawn(serve(listener, Arc::clone(&answers)));
        let archive = Self { key: new_key(), address, answers, server };
        let apt = deb(
            "apt",
            "1.0",
            &[
                ("./bin/", Kind::Directory),
                ("./bin/tool", Kind::File("#!/bin/sh\n", 0o4755)),
                ("./bin/other", Kind::HardLink("./bin/tool")),
                ("./etc/", Kind::Directory),
                ("./etc/tool.conf", Kind::File("key=1\n", 0o644)),
                ("./usr/share/man/man1/", Kind::Directory),
                ("./usr/share/man/man1/tool.1", Kind::File("page", 0o644)),
                ("./usr/share/tool", Kind::Link("../../etc/tool.conf")),
            ],
        );
        let keyring = deb("debian-archive-keyring", "1", &[("./usr/", Kind::Directory)]);
        let stanzas = [
            stanza("apt", "1.0", "pool/main/apt_1.0_all.deb", &apt, "Depends: debian-archive-keyring"),
            stanza("debian-archive-keyring", "1", "pool/main/k.deb", &keyring, ""),
        ];
        archive.put(APT, apt);
        archive.put("/debian/pool/main/k.deb", keyring);
        archive.put_suite("/debian", "bookworm", &stanzas.join("\n"));
        archive.put_suite("/debian", "bookworm-updates", "");
        archive.put_suite("/debian-security", "bookworm-security", "");
        archive
    }

    pub(super) fn base(&self) -> String {
        format!("http://{}/debian", self.address)
    }

    pub(super) fn put(&self, path: &str, body: Vec<u8>) {
        self.answers.lock().expect("lock").insert(path.to_owned(), Answer::whole(body));
    }

    /// Changes what one path answers.
    pub(super) fn change(&self, path: &str, change: impl FnOnce(&mut Answer)) {
        change(self.answers.lock().expect("lock").get_mut(path).expect("served"));
    }

    pub(super) fn remove(&self, path: &str) {
        self.answers.lock().expect("lock").remove(path).expect("served");
    }

    /// Publishes a suite whose index holds `packages`, by digest only.
    pub(super) fn put_suite(&self, base: &str, suite: &str, packages: &str) {
        let index = Checksum::of(packages.as_bytes());
        let architecture = Architecture::of_host().expect("an architecture of Debian's").debian;
        let text = format!(
            "Suite: fake\nCodename: {suite}\nDate: Sat, 11 Jul 2020 10:16:37 UTC\nAcquire-By-Hash: yes\n\
             SHA256:\n {} {} main/binary-{architecture}/Packages\n",
            index.sha256(),
            index.size
        );
        let by_hash = format!("main/binary-{architecture}/by-hash/SHA256/{}", index.sha256());
        self.put(&format!("{base}/dists/{suite}/{by_hash}"), packages.as_bytes().to_vec());
        self.put(&format!("{base}/dists/{suite}/InRelease"), sign(&self.key, &text).into_bytes());
    }

    pub(super) fn stop(&self) {
        self.server.abort();
    }
}

impl Drop for FakeArchive {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A key pair that lives as long as the test.
pub(super) fn new_key() -> SignedSecretKey {
    let parameters = SecretKeyParamsBuilder::default()
        .key_type(KeyType::Ed25519Legacy)
        .can_certify(true)
        .can_sign(true)
        .primary_user_id("Test Archive <test@example.org>".into())
        .build()
        .expect("parameters");
    parameters.generate(rand::thread_rng()).expect("a key")
}

/// The public half as a keyring file holds it.
pub(super) fn public_key(key: &SignedSecretKey) -> String {
    key.to_public_key().to_armored_string(ArmorOptions::default()).expect("armour")
}

pub(super) fn sign(key: &SignedSecretKey, text: &str) -> String {
    CleartextSignedMessage::sign(rand::thread_rng(), text, &**key, &Password::empty())
        .and_then(|message| message.to_armored_string(ArmorOptions::default()))
        .expect("a signed text")
}

pub(super) enum Kind {
    Directory,
    File(&'static str, u32),
    Link(&'static str),
    HardLink(&'static str),
}

/// A package with these files; `etc/tool.conf` is its configuration file where it has one.
pub(super) fn deb(name: &str, version: &str, files: &[(&str, Kind)]) -> Vec<u8> {
    let control = format!("Package: {name}\nVersion: {version}\nArchitecture: all\n");
    let mut members = vec![("./control", Kind::File(leak(control), 0o644))];
    if files.iter().any(|(path, _)| *path == "./etc/tool.conf") {
        members.push(("./conffiles", Kind::File("/etc/tool.conf\n", 0o644)));
    }
    let mut bytes = b"!<arch>\n".to_vec();
    let contents =
        [("debian-binary", b"2.0\n".to_vec()), ("control.tar", tar(&members)), ("data.tar", tar(files))];
    for (name, content) in contents {
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, content.len());
        bytes.extend(header.bytes());
        bytes.extend(&content);
        bytes.extend(vec![b'\n'; content.len() % 2]);
    }
    bytes
}

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn tar(files: &[(&str, Kind)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, kind) in files {
        let mut header = tar::Header::new_gnu();
        // Written raw, so that a hostile path gets through.
        header.as_gnu_mut().expect("gnu").name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_mtime(1_500_000_000);
        header.set_uid(0);
        header.set_gid(0);
        let (kind, mode, link, content) = match kind {
            Kind::Directory => (tar::EntryType::Directory, 0o755, "", ""),
            Kind::File(content, mode) => (tar::EntryType::Regular, *mode, "", *content),
            Kind::Link(target) => (tar::EntryType::Symlink, 0o777, *target, ""),
            Kind::HardLink(target) => (tar::EntryType::Link, 0o644, *target, ""),
        };
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.as_gnu_mut().expect("gnu").linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, content.as_bytes()).expect("append");
    }
    builder.into_inner().expect("tar")
}

pub(super) fn stanza(name: &str, version: &str, path: &str, deb: &[u8], extra: &str) -> String {
    let checksum = Checksum::of(deb);
    let mut text = format!(
        "Package: {name}\nVersion: {version}\nArchitecture: all\nFilename: {path}\nSize: {}\nSHA256: {}\n",
        checksum.size,
        checksum.sha256()
    );
    if !extra.is_empty() {
        let _ = writeln!(text, "{extra}");
    }
    text
}

async fn serve(listener: TcpListener, answers: Answers) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream, Arc::clone(&answers)));
    }
}

/// One request a connection.
async fn answer(mut stream: TcpStream, answers: Answers) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut buffer).await {
            Ok(length) if length > 0 => request.extend_from_slice(&buffer[..length]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&request);
    let path = text.split_whitespace().nth(1).unwrap_or_default();
    let answer = answers.lock().expect("lock").get(path).cloned();
    let (status, answer) = match answer {
        Some(answer) => ("200 OK", answer),
        None => ("404 Not Found", Answer::whole(Vec::new())),
    };
    let header =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.length);
    let _ = stream.write_all(header.as_bytes()).await;
    let _ = stream.write_all(&answer.body).await;
    let _ = stream.shutdown().await;
}
