//! A real bootstrap from the archive this machine's apt uses. Runs as root, where that archive can be reached;
//! says why it is skipped otherwise.
//!
//! It brings its own `main`, because it is also the helper that launches isolated processes, which must have
//! one thread.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use abx_core::host::{DebianMirrors, HostNetwork};
use abx_core::{Home, Silent};
use abx_debian::{BootstrapSettings, DEFAULT_MAX_AGE, bootstrap, mirrors_from_apt, release_of};
use abx_image::{Image, ImageStore, Origin};
use sha2::{Digest, Sha256};

fn main() {
    if std::env::args().nth(1).as_deref() == Some(abx_isolate::HELPER) {
        std::process::exit(i32::from(abx_isolate::run_helper()));
    }
    if std::env::args().any(|argument| argument == "--list") {
        return say("real_bootstrap: test");
    }
    match prepare() {
        Err(reason) => say(&format!("real_bootstrap ... skipped: {reason}")),
        Ok((runtime, mirrors)) => {
            runtime.block_on(real_bootstrap(mirrors));
            say("real_bootstrap ... ok");
        }
    }
}

#[expect(clippy::print_stdout, reason = "the harness of this test")]
fn say(line: &str) {
    println!("{line}");
}

/// What the test needs, or why it cannot run.
fn prepare() -> Result<(tokio::runtime::Runtime, DebianMirrors), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("needs root".to_owned());
    }
    let mirrors = mirrors_from_apt(apt_texts().iter().map(String::as_str));
    let archive = mirrors.archive.clone().ok_or("apt names no Debian archive here")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let url = format!("{archive}/dists/bookworm/InRelease");
    let reachable = runtime.block_on(async {
        let client = abx_image::http::client(&HostNetwork::default()).map_err(|error| error.to_string())?;
        let response = client.get(&url).send().await.map_err(|error| error.to_string())?;
        response.error_for_status().map(|_| ()).map_err(|error| error.to_string())
    });
    reachable.map(|()| (runtime, mirrors))
}

fn apt_texts() -> Vec<String> {
    let parts = std::fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let paths = [PathBuf::from("/etc/apt/sources.list")].into_iter().chain(parts.map(|entry| entry.path()));
    paths.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

fn settings(home: &Path, mirrors: &DebianMirrors) -> BootstrapSettings {
    BootstrapSettings {
        home: Home::new(home),
        host: HostNetwork { debian: mirrors.clone(), ..HostNetwork::default() },
        default_mirror: "http://public.example/debian".to_owned(),
        keyrings: Vec::new(),
        offline: false,
        max_age: DEFAULT_MAX_AGE,
        helper: std::env::current_exe().expect("this program"),
    }
}

async fn real_bootstrap(mirrors: DebianMirrors) {
    let dir = tempfile::tempdir().expect("tempdir");
    let release = release_of("debian:bookworm-slim").expect("a release");
    let first = settings(&dir.path().join("first"), &mirrors);
    let image = bootstrap(&release, &first, &Silent).await.expect("bootstrap");
    let root = layer(&first, &image);
    check_packages(&root, &image);
    check_leftovers(&root, &first.home);

    let offline = BootstrapSettings { offline: true, ..first.clone() };
    let again = bootstrap(&release, &offline, &Silent).await.expect("reused");
    assert_eq!(again.id, image.id, "reused without network");

    // The same packages in another home give the same tree, to the byte and the second.
    let second = settings(&dir.path().join("second"), &mirrors);
    std::fs::create_dir_all(second.home.cache("debs")).expect("mkdir");
    for entry in std::fs::read_dir(first.home.cache("debs")).expect("cache").flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let target = second.home.cache("debs").join(entry.file_name());
            std::fs::hard_link(entry.path(), target).expect("link");
        }
    }
    let other = bootstrap(&release, &second, &Silent).await.expect("second bootstrap");
    assert_eq!(other.layers, image.layers);
    let (left, right) = (tree(&root), tree(&layer(&second, &other)));
    let differ: Vec<_> = left.iter().filter(|(path, entry)| right.get(*path) != Some(*entry)).collect();
    assert!(differ.is_empty() && left.len() == right.len(), "{differ:?}");
}

fn layer(settings: &BootstrapSettings, image: &Image) -> PathBuf {
    let [layer] = image.layers.as_slice() else { panic!("one layer") };
    ImageStore::open(&settings.home).layer_path(layer)
}

fn check_packages(root: &Path, image: &Image) {
    let status = read(root, "var/lib/dpkg/status");
    let installed = status.lines().filter(|line| *line == "Status: install ok installed").count();
    let states = status.lines().filter(|line| line.starts_with("Status: ")).count();
    let Origin::Archive { release, packages, .. } = &image.origin else { panic!("{:?}", image.origin) };
    assert_eq!((release.as_str(), installed, states), ("bookworm-slim", packages.len(), packages.len()));
    for name in ["apt", "mawk", "usr-is-merged", "debian-archive-keyring", "tzdata"] {
        assert!(packages.iter().any(|package| package.starts_with(&format!("{name}="))), "{name}");
    }
    assert!(read(root, "etc/passwd").starts_with("root:x:0:0:root:/root:/bin/bash\n"), "shadow is on");
    assert!(read(root, "etc/group").contains("\nstaff:x:50:\n"));
    assert_eq!(std::fs::read_link(root.join("lib")).expect("link"), Path::new("usr/lib"));
    assert_eq!(std::fs::metadata(root.join("usr/bin/su")).expect("su").mode() & 0o7777, 0o4755);
    assert_eq!(std::fs::metadata(root.join("tmp")).expect("tmp").mode() & 0o7777, 0o1777);
    assert_eq!(std::fs::metadata(root.join("usr/bin/chage")).expect("chage").gid(), 42, "group shadow");
}

fn check_leftovers(root: &Path, home: &Home) {
    let sources = read(root, "etc/apt/sources.list.d/debian.sources");
    assert!(sources.contains("http://public.example/debian\n"), "{sources}");
    let uris = sources.lines().filter(|line| line.starts_with("URIs:"));
    assert!(uris.into_iter().all(|line| line.contains("public.example")), "{sources}");
    for path in ["etc/resolv.conf", "etc/hosts", "etc/hostname", "etc/machine-id"] {
        assert_eq!(read(root, path), "", "{path}");
    }
    for path in
        ["var/log/dpkg.log", "var/lib/dpkg/tmp.ci", "var/lib/dpkg/status-old", "var/cache/apt/pkgcache.bin"]
    {
        assert!(!root.join(path).exists(), "{path}");
    }
    let pages = std::fs::read_dir(root.join("usr/share/man/man1")).expect("for later links").count();
    assert_eq!(pages, 0);
    assert!(root.join("usr/share/doc/bash/copyright").exists());
    let helper = read(root, "usr/bin/dpkg-maintscript-helper");
    assert!(helper.contains("rm_conffile"), "the stand-in was for the making only");
    assert_eq!(std::fs::read_dir(home.store("staging")).expect("staging").count(), 0);
}

fn read(root: &Path, path: &str) -> String {
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every entry with what counts: mode, owner, time, content or target.
fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut entries = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = std::fs::symlink_metadata(&path).expect("stat");
        let content = match metadata.file_type() {
            kind if kind.is_file() => {
                format!("{:x}", Sha256::digest(std::fs::read(&path).expect("read")))
            }
            kind if kind.is_symlink() => format!("{:?}", std::fs::read_link(&path).expect("link")),
            _ => {
                open.extend(std::fs::read_dir(&path).expect("list").flatten().map(|entry| entry.path()));
                String::new()
            }
        };
        let (mode, uid, gid, time) = (metadata.mode(), metadata.uid(), metadata.gid(), metadata.mtime());
        let relative = path.strip_prefix(root).expect("below the root").to_owned();
        entries.insert(relative, format!("{mode:o} {uid}:{gid} {time} {content}"));
    }
    entries
}
