//! A GitHub, or something in its place, that does what no server should: each has its error, and the store is as it was.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use abx_core::host::HostNetwork;
use abx_core::{Fault, Home, Secret, Silent};
use abx_source::archive::Caps;
use abx_source::{GithubSettings, SourceContext, SourceError, fetch, resolve};
use abx_test::github::{LoopbackGithub, Trick, archive};
use abx_test::wire::Wire;

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";
const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: hello}\nbase: {image: debian}\n";
const FILES: [(&str, &str); 2] = [("template.yaml", TEMPLATE), ("files/a", "a")];

struct World {
    dir: tempfile::TempDir,
    github: LoopbackGithub,
}

impl World {
    /// With `o/r` there, and `p/q` in the store.
    async fn new() -> Self {
        let world = Self { dir: tempfile::tempdir().expect("tempdir"), github: LoopbackGithub::start() };
        world.github.put("p/q", "HEAD", TWO, &FILES);
        world.fetch("p/q", &world.settings()).await.expect("fetched");
        world.github.put("o/r", "HEAD", ONE, &FILES);
        std::fs::write(world.dir.path().join("secret"), "secret").expect("write");
        world
    }

    /// Small caps.
    fn settings(&self) -> GithubSettings {
        let caps = Caps { compressed: 64 << 10, expanded: 1 << 20, entries: 100, ..Caps::default() };
        let token = Some(Secret::new("t0ken"));
        GithubSettings { api: self.github.url(), token, caps, ..GithubSettings::default() }
    }

    async fn fetch(&self, text: &str, settings: &GithubSettings) -> Result<(), SourceError> {
        let home = Home::new(self.dir.path().join("home"));
        let context = SourceContext::new(home, self.dir.path().to_owned(), None);
        resolve(text, &fetch(text, &context, settings, &Silent).await?).map(drop)
    }

    /// `CODE message`, or `ok`. Every fault says what to do, and none has the token in it.
    async fn outcome(&self, text: &str, settings: &GithubSettings) -> String {
        let Err(error) = self.fetch(text, settings).await else { return "ok".to_owned() };
        assert!(!error.hints().is_empty(), "{error} has no hint");
        assert!(!format!("{error:?}").contains("t0ken"), "{error:?}");
        format!("{} {error}", error.code()).replace(&self.github.url()[7..], "HOST")
    }

    /// Every file of the world with its mode and content; but for the files of locks, and for what names stand for,
    /// which is known by then.
    fn picture(&self) -> Vec<String> {
        let walk = walkdir::WalkDir::new(self.dir.path()).sort_by_file_name().into_iter();
        let is_kept = |path: &Path| !path.ends_with("store/locks") && !path.ends_with("store/pins");
        walk.filter_entry(|entry| is_kept(entry.path()))
            .map(|entry| shown(entry.expect("entry").path()))
            .collect()
    }
}

fn shown(path: &Path) -> String {
    let metadata = path.symlink_metadata().expect("metadata");
    let content = match metadata.is_file() {
        true => std::fs::read(path).expect("content"),
        false => std::fs::read_link(path).unwrap_or_default().into_os_string().into_encoded_bytes(),
    };
    format!("{} {:o} {content:?}", path.display(), metadata.permissions().mode())
}

fn ok_head(length: usize) -> Vec<u8> {
    Wire::head(200, &[("Content-Length", &length.to_string())])
}

fn sound() -> Vec<u8> {
    archive("o-r-1111111", &FILES)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("gzip")
}

/// A tar with one file that is about to be sent.
fn begun(size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path("t/large").expect("path");
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    gzip(header.as_bytes())
}

/// What does not get smaller.
fn noise(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 23) as u8).collect()
}

/// Many servers at the same time, since most of the time passes waiting.
#[derive(Default)]
struct Checks {
    tasks: tokio::task::JoinSet<()>,
    patience: Option<Duration>,
}

impl Checks {
    /// Plays `wire` to whoever asks for `path`.
    fn add(&mut self, path: &'static str, wire: Wire, expected: &str) {
        let (expected, patience) = (expected.to_owned(), self.patience);
        self.tasks.spawn(async move {
            let world = World::new().await;
            let before = world.picture();
            world.github.send(path, wire, 9);
            let mut settings = world.settings();
            settings.silence = patience.unwrap_or(settings.silence);
            assert_eq!(world.outcome("o/r", &settings).await, expected, "{path}");
            assert_eq!(world.picture(), before, "after {expected}");
        });
    }

    async fn all(mut self) {
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(error) = ended {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_is_slow() {
    let mut checks = Checks { patience: Some(Duration::from_millis(500)), ..Checks::default() };
    let (long, every) = (Duration::from_secs(4), Duration::from_millis(100));
    let (silent, late) = ("E5001 cannot reach HOST", "E5001 HOST did not finish within 1 seconds");
    for path in ["/commits/", "/tarball/", "/codeload/"] {
        checks.add(path, Wire::Silent(vec![], long), silent);
        checks.add(path, Wire::Drip(b"HTTP/1.1 200 ".to_vec(), vec![b'x'; 40], every), silent);
    }
    checks.add("/commits/", Wire::Silent(ok_head(40), long), silent);
    checks.add("/commits/", Wire::Drip(ok_head(40), ONE.into(), every), late);
    let nothing = "E5001 nothing came from HOST for 0.5 seconds";
    checks.add("/codeload/", Wire::Silent(ok_head(sound().len()), long), nothing);
    let drip = "E5001 HOST sends fewer than 1024 bytes a second";
    checks.add("/codeload/", Wire::Drip(ok_head(sound().len()), sound(), every), drip);
    checks.all().await;
}

#[tokio::test]
async fn a_server_that_ends_early_or_lies_about_lengths() {
    let mut checks = Checks::default();
    let broken = "E5000 the transfer from HOST broke off";
    let damaged = "E5020 cannot unpack `o/r` at 111111111111: the archive is damaged";
    let (body, length) = (sound(), sound().len());
    let with = |head: Vec<u8>, body: &[u8]| Wire::Bytes([&head, body].concat());
    for path in ["/commits/", "/codeload/"] {
        checks.add(path, Wire::Bytes(vec![]), broken);
        checks.add(path, Wire::Bytes(b"HTTP/1.1 200 O".to_vec()), broken);
        checks.add(path, Wire::Bytes(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()), broken);
        checks.add(path, with(ok_head(length + 1), &body), broken);
        let chunked = Wire::head(200, &[("Transfer-Encoding", "chunked")]);
        checks.add(path, with(chunked.clone(), &[b"5\r\n", &body[..5], b"\r\n"].concat()), broken);
        checks.add(path, with(chunked, b"no number\r\n"), broken);
    }
    checks.add("/codeload/", with(ok_head(length - 9), &body), damaged);
    checks.add("/codeload/", with(Wire::head(200, &[]), &body[..length - 9]), damaged);
    checks.add("/codeload/", with(Wire::head(204, &[]), &[]), damaged);
    let commit = "E5004 HOST gave an answer that makes no sense: it names no commit";
    checks.add("/commits/", with(ok_head(39), ONE.as_bytes()), commit);
    let download =
        "E5021 cannot unpack `o/r` at 111111111111: the archive has more than 65536 bytes of download";
    checks.add("/codeload/", with(ok_head(10 << 30), &body), download);
    checks.all().await;
}

#[tokio::test]
async fn a_server_that_never_ends() {
    let mut checks = Checks::default();
    let over = |what| format!("E5021 cannot unpack `o/r` at 111111111111: the archive has more than {what}");
    let head = || Wire::head(200, &[]);
    let zeros = gzip(&[0; 1 << 20]);
    checks.add("/codeload/", Wire::Endless(head(), zeros), &over("1458176 bytes when unpacked"));
    let large = [head(), begun(1 << 19)].concat();
    checks.add("/codeload/", Wire::Endless(large, gzip(&noise(9000))), &over("65536 bytes of download"));
    checks.add(
        "/codeload/",
        Wire::Bytes([head(), begun(2 << 20)].concat()),
        &over("1048576 bytes when unpacked"),
    );
    let senseless = |reason| format!("E5004 HOST gave an answer that makes no sense: {reason}");
    checks.add("/commits/", Wire::Endless(head(), vec![b'1'; 1 << 16]), &senseless("it does not end"));
    let broken = "E5000 the transfer from HOST broke off";
    for path in ["/commits/", "/codeload/"] {
        let start = b"HTTP/1.1 200 OK\r\n".to_vec();
        checks.add(path, Wire::Endless(start, b"X-More: and more\r\n".repeat(99)), broken);
    }
    // Compressed for the wire: nobody has asked for that, and nothing is decompressed.
    let head = Wire::head(200, &[("Content-Encoding", "gzip")]);
    checks.add(
        "/commits/",
        Wire::Bytes([head, gzip(&[b'1'; 9 << 20])].concat()),
        &senseless("it names no commit"),
    );
    checks.all().await;
}

#[tokio::test]
async fn paths_are_no_longer_than_can_be_opened() {
    let world = World::new().await;
    let deep = |folders: usize| format!("{}/f", vec!["d".repeat(200); folders].join("/"));
    for (folders, expected) in
        [(18, "ok"), (20, "E5021 cannot unpack `o/r` at 111111111111: the archive has more than ")]
    {
        let files = [("template.yaml", TEMPLATE), (&deep(folders), "deep")];
        world.github.put("o/r", "HEAD", ONE, &files);
        let anew = GithubSettings { no_cache: true, ..world.settings() };
        let outcome = world.outcome("o/r", &anew).await;
        assert!(outcome.starts_with(expected), "{folders}: {outcome}");
    }
}

#[tokio::test]
async fn a_server_that_sends_us_elsewhere() {
    let mut checks = Checks::default();
    let nowhere = "E5004 HOST gave an answer that makes no sense: it redirects to nowhere";
    for path in ["/commits/", "/tarball/", "/codeload/"] {
        for target in ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://[", "data:,x"] {
            checks.add(path, Wire::Bytes(Wire::head(302, &[("Location", target)])), nowhere);
        }
        checks.add(path, Wire::Bytes(Wire::head(302, &[])), nowhere);
    }
    checks.all().await;
}

#[tokio::test]
async fn nobody_else_gets_the_token_whatever_is_asked() {
    for (reference, path) in [
        ("o/r", "/commits/"),
        ("o/r", "/tarball/"),
        ("o/r", "/codeload/"),
        ("o/r@^1", "/tags"),
        ("o/r@latest", "/tags"),
    ] {
        let world = World::new().await;
        let other = LoopbackGithub::start();
        for github in [&world.github, &other] {
            github.put("o/r", "HEAD", ONE, &FILES);
            github.tag("o/r", "v1.0.0", ONE, true);
        }
        // Another port, and another name for this host.
        let port = other.url().rsplit(':').next().expect("a port").to_owned();
        for base in [other.url(), format!("http://localhost:{port}")] {
            world.github.play(path, Trick::Redirect(base), 1);
            let settings = GithubSettings { no_cache: true, ..world.settings() };
            assert_eq!(world.outcome(reference, &settings).await, "ok", "{reference} {path}");
        }
        let asked = other.requests();
        assert!(asked.len() >= 2, "{reference} {path}: {asked:?}");
        assert!(asked.iter().all(|request| request.header("authorization").is_none()), "{path}");
    }
}

#[tokio::test]
async fn a_commit_that_changes_between_the_questions() {
    let named = |commit: &str| {
        let mut builder = tar::Builder::new(Vec::new());
        let records = format!("52 comment={commit}\n");
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::XGlobalHeader);
        header.set_size(records.len() as u64);
        builder.append_data(&mut header, "pax_global_header", records.as_bytes()).expect("tar");
        let mut header = tar::Header::new_ustar();
        header.set_size(TEMPLATE.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, "t/template.yaml", TEMPLATE.as_bytes()).expect("tar");
        gzip(&builder.into_inner().expect("tar"))
    };
    let moved = format!("E5004 HOST sent commit {TWO} of `o/r` in the place of {ONE}");
    let world = World::new().await;
    let before = world.picture();
    world.github.put_archive("o/r", "HEAD", ONE, named(TWO));
    assert_eq!(world.outcome("o/r", &world.settings()).await, moved);
    assert_eq!(world.picture(), before);
    world.github.put_archive("o/r", "HEAD", ONE, named(ONE));
    assert_eq!(world.outcome("o/r", &world.settings()).await, "ok");
}

#[tokio::test]
async fn what_passes_is_tried_again_twice_and_at_once() {
    let refuse = |status| Trick::Refuse(status, vec![], "");
    for (path, trick, times, expected, asked) in [
        ("/commits/", refuse(502), 2, "ok", 3),
        ("/codeload/", refuse(503), 2, "ok", 3),
        ("/codeload/", Trick::CutAfter(40), 2, "ok", 3),
        ("/codeload/", refuse(504), 9, "E5004 HOST failed with status 504", 3),
        ("/codeload/", Trick::CutAfter(40), 9, "E5000 the transfer from HOST broke off", 3),
        // What the other side means is not asked again.
        ("/commits/", refuse(500), 9, "E5004 HOST failed with status 500", 1),
        ("/commits/", refuse(429), 9, "E5003 HOST asks for fewer requests at a time", 1),
        ("/codeload/", refuse(404), 9, "E2001 there is no repository `o/r` on HOST", 1),
    ] {
        let world = World::new().await;
        let before = world.github.asked(path).len();
        world.github.play(path, trick, times);
        assert_eq!(world.outcome("o/r", &world.settings()).await, expected);
        assert_eq!(world.github.asked(path).len() - before, asked, "{expected}");
    }
}

#[tokio::test]
async fn what_was_there_before_stays_of_use() {
    let world = World::new().await;
    world.fetch("o/r", &world.settings()).await.expect("fetched");
    let before = world.picture();
    let anew = GithubSettings { no_cache: true, ..world.settings() };
    world.github.send("/codeload/", Wire::Bytes([ok_head(99), vec![b'x'; 99]].concat()), 1);
    let refused = "E5020 cannot unpack `o/r` at 111111111111: what was sent is no gzip archive";
    assert_eq!(world.outcome("o/r", &anew).await, refused);
    assert_eq!(world.picture(), before);
    // So does what a branch stood for, where its next commit is not to be had.
    world.github.put_archive("o/r", "HEAD", TWO, vec![b'x'; 99]);
    assert!(world.outcome("o/r", &anew).await.starts_with("E5020 cannot unpack `o/r` at 222222222222"));
    assert_eq!(world.picture(), before);
    let offline = GithubSettings { offline: true, ..world.settings() };
    assert_eq!(world.outcome("o/r", &offline).await, "ok");
    assert_eq!(world.picture(), before);
    // And what is there needs no client: nobody looks at its certificates.
    let network = HostNetwork { ca_bundle: Some("/none".into()), ..HostNetwork::default() };
    let known = GithubSettings { network, ..world.settings() };
    assert_eq!(world.outcome("p/q", &known).await, "ok");
    assert!(world.outcome("p/other", &known).await.starts_with("E5000 "));
}
