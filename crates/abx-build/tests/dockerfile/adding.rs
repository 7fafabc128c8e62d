//! `ADD`: archives and addresses.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use abx_core::{Code, Fault};
use abx_image::tarball::{Entry, Kind, Time, Writer};

use crate::world::{World, outcomes};

pub(crate) const ALL: &[(&str, fn())] = &[
    ("archives_are_unpacked_whatever_compresses_them", archives_are_unpacked),
    ("archives_cannot_write_elsewhere", archives_cannot_write_elsewhere),
    ("addresses_are_fetched_once_and_asked_again", addresses_are_fetched_once),
    ("a_wrong_checksum_is_refused", a_wrong_checksum_is_refused),
];

/// An archive of these members: path, kind, mode, content.
fn tar(members: &[(&str, Kind, u32, &str)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for (path, kind, mode, content) in members {
        let entry = Entry {
            path: path.as_bytes().to_vec(),
            kind: kind.clone(),
            mode: *mode,
            uid: 5,
            gid: 6,
            mtime: Time { seconds: 1_000_000, nanoseconds: 0 },
            size: content.len() as u64,
            xattrs: Vec::new(),
        };
        writer.append(&entry, content.as_bytes()).expect("append");
    }
    writer.finish().expect("finish")
}

fn sample() -> Vec<u8> {
    tar(&[
        ("./", Kind::Directory, 0o700, ""),
        ("d/", Kind::Directory, 0o750, ""),
        ("d/f", Kind::File, 0o640, "f"),
        ("d/h", Kind::HardLink(b"d/f".to_vec()), 0o640, ""),
        ("l", Kind::Symlink(b"d/f".to_vec()), 0o777, ""),
    ])
}

fn write(world: &World, name: &str, bytes: &[u8]) {
    std::fs::write(world.path(name), bytes).expect("write");
}

fn archives_are_unpacked() {
    let world = World::new();
    let plain = sample();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).expect("gzip");
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(&plain).expect("xz");
    write(&world, "a.tar", &plain);
    write(&world, "any-name", &gzip.finish().expect("gzip"));
    write(&world, "a.txz", &xz.finish().expect("xz"));
    write(&world, "a.zst", &zstd::stream::encode_all(&plain[..], 1).expect("zstd"));
    let expected =
        ["755 0:0 n/", "750 5:6 n/d/", "640 5:6 n/d/f = f", "640 5:6 n/d/h = f", "777 5:6 n/l -> d/f"];
    for name in ["a.tar", "any-name", "a.txz", "a.zst"] {
        let built = world.build(&format!("FROM tools\nADD {name} /n\n"));
        assert_eq!(world.listing(&built), expected, "{name}");
    }
    let lines = world.listing(&world.build("FROM tools\nADD --chown=1:2 --chmod=700 a.tar /n/\n"));
    assert_eq!(lines[..2], ["755 1:2 n/", "750 5:6 n/d/"], "members keep what they have");
    let text = "FROM tools\nRUN mkdir -p /n/l /n/d/f && touch /n/d/g /n/d/f/x\nADD a.tar /n\n";
    let lines = world.listing(&world.build(text));
    assert!(lines.contains(&"640 5:6 n/d/f = f".to_owned()), "{lines:?}");
    assert!(lines.contains(&"777 5:6 n/l -> d/f".to_owned()), "{lines:?}");
    let text = "FROM tools\nRUN mkdir /n && touch /n/d\nADD a.tar /n\nRUN test -f /n/d/f\n";
    world.build(text);
    for line in ["COPY a.tar /n", "ADD --unpack=false a.tar /n"] {
        let built = world.build(&format!("FROM tools\n{line}\n"));
        assert_eq!(std::fs::read(world.find(&built, "n").expect("file")).expect("read"), plain, "{line}");
    }
    write(&world, "a.bz2", b"BZh91AY");
    // What is compressed but no archive is a file.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"text").expect("gzip");
    write(&world, "text.gz", &gzip.finish().expect("gzip"));
    let built = world.build("FROM tools\nADD text.gz /n\n");
    assert!(world.find(&built, "n").expect("file").is_file());
}

fn archives_cannot_write_elsewhere() {
    let world = World::new();
    let file = Kind::File;
    write(&world, "up.tar", &tar(&[("../../x", file.clone(), 0o644, "x")]));
    let error = world.try_build("FROM tools\nADD up.tar /n\n").expect_err("leads out");
    assert!(error.to_string().contains("`../../x` leads out of it"), "{error}");
    let link = Kind::Symlink(b"../../../../../../etc".to_vec());
    write(&world, "link.tar", &tar(&[("l", link, 0o777, ""), ("l/x", file, 0o644, "x")]));
    let error = world.try_build("FROM tools\nADD link.tar /n\n").expect_err("leads out");
    assert!(error.to_string().contains("`l/x` goes through a link that leads out of it"), "{error}");
    write(&world, "cut.tar", &sample()[..1200]);
    let error = world.try_build("FROM tools\nADD cut.tar /n\n").expect_err("cut");
    assert_eq!(error.code(), Code::BuildStep);
    world.assert_clean();
}

/// A server that knows one file with a tag; counts what it has sent.
fn serve(content: &'static [u8]) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = format!("http://{}/dir/file.txt?x=1", listener.local_addr().expect("address"));
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let lines = BufReader::new(stream.try_clone().expect("clone")).lines();
            let head: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let is_known = head.iter().any(|line| line.eq_ignore_ascii_case("if-none-match: \"one\""));
            let answer = if head[0].contains("/gone") {
                "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
            } else if is_known {
                "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_owned()
            } else {
                count.fetch_add(1, Ordering::SeqCst);
                let length = content.len();
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nETag: \"one\"\r\nConnection: close\r\n\
                     Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n\r\n{}",
                    String::from_utf8_lossy(content)
                )
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (address, sent)
}

fn addresses_are_fetched_once() {
    use std::os::unix::fs::MetadataExt;
    let mut world = World::new();
    let (url, sent) = serve(b"hello");
    let text = format!("FROM tools\nADD {url} /n/\nADD --chmod=644 --chown=7 {url} /m\n");
    let built = world.build(&text);
    let expected = ["644 7:7 m = hello", "755 0:0 n/", "600 0:0 n/file.txt = hello"];
    assert_eq!(world.listing(&built), expected);
    let file = world.find(&built, "n/file.txt").expect("file");
    assert_eq!(file.metadata().expect("metadata").mtime(), 1_420_070_400);
    assert!(outcomes(&world.build(&text)).iter().all(|outcome| outcome.starts_with('=')));
    assert_eq!(sent.load(Ordering::SeqCst), 1, "asked again, and sent once");
    world.offline = true;
    world.build(&text);
    let error = world.try_build("FROM tools\nADD http://127.0.0.1:9/x /n\n").expect_err("offline");
    assert_eq!(error.code(), Code::Offline);
    world.offline = false;
    let gone = url.replace("/dir/file.txt?x=1", "/gone");
    let error = world.try_build(&format!("FROM tools\nADD {gone} /n\n")).expect_err("404");
    assert!(error.to_string().contains("404"), "{error}");
    let error = world.try_build("FROM tools\nADD http://127.0.0.1:9/x /n\n").expect_err("nobody there");
    assert!(error.to_string().contains("cannot fetch http://127.0.0.1:9/x"), "{error}");
    world.assert_clean();
}

fn a_wrong_checksum_is_refused() {
    let world = World::new();
    let (url, _) = serve(b"hello");
    let right = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    world.build(&format!("FROM tools\nADD --checksum=sha256:{right} {url} /n\n"));
    let wrong = right.replace('2', "3");
    let text = format!("FROM tools\nADD --checksum=sha256:{wrong} {url} /n\n");
    let error = world.try_build(&text).expect_err("wrong");
    assert_eq!(error.code(), Code::DigestMismatch);
    assert!(error.to_string().contains(right), "{error}");
}
