//! Files, directories and archives.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use abx_client::{ClientError, FileType};

use crate::common::{TestGuest, run};

#[test]
fn files_of_any_size_go_up_and_down_unchanged() {
    let guest = TestGuest::start();
    run(async {
        for size in [0, 1, 65_536, 65_537, 3 << 20] {
            let content: Vec<u8> = (0..size).map(|place: usize| (place * 7 + place / 251) as u8).collect();
            let path = guest.path(&format!("deep/er/{size}"));
            guest.client.upload(&content[..], &path, None).await.expect("upload");
            assert!(std::fs::read(&path).expect("read") == content, "{size} up");
            let download = guest.client.download(&path, None).await.expect("download");
            assert_eq!(download.size(), Some(size as u64));
            assert!(download.bytes().await.expect("bytes") == content, "{size} down");
        }
    });
}

#[test]
fn an_upload_replaces_what_was_longer() {
    let guest = TestGuest::start();
    run(async {
        let path = guest.path("file");
        for content in ["a longer content", "short"] {
            guest.client.upload(content.as_bytes(), &path, None).await.expect("upload");
            assert_eq!(std::fs::read_to_string(&path).expect("read"), content);
        }
        let mode = std::fs::metadata(&path).expect("metadata").permissions().mode();
        assert_eq!(mode & 0o7777, 0o644);
    });
}

#[test]
fn what_is_not_there_or_no_file_is_told_apart() {
    let guest = TestGuest::start();
    run(async {
        let error = guest.client.download(&guest.path("none"), None).await.expect_err("missing");
        assert!(matches!(error, ClientError::FileNotFound { .. }), "{error:?}");
        let error = guest.client.download(&guest.path("work"), None).await.expect_err("a directory");
        assert!(matches!(error, ClientError::Refused { status: 400, .. }), "{error:?}");
        let error = guest.client.upload(&b"x"[..], &guest.path("work"), None).await.expect_err("a directory");
        assert!(matches!(error, ClientError::Refused { status: 400, .. }), "{error:?}");
        let error = guest.client.stat(&guest.path("none"), None).await.expect_err("missing");
        assert!(matches!(error, ClientError::FileNotFound { .. }), "{error:?}");
    });
}

#[test]
fn a_refusal_is_seen_however_much_is_sent() {
    use tokio::io::AsyncReadExt;
    let guest = TestGuest::start();
    run(async {
        for round in 0..3 {
            let much = || tokio::io::repeat(7).take(100 << 20);
            let error =
                guest.client.upload(much(), &guest.path("work"), None).await.expect_err("a directory");
            assert!(matches!(error, ClientError::Refused { status: 400, .. }), "{round}: {error:?}");
            let error =
                guest.client.upload(much(), &guest.path("f"), Some("ghost")).await.expect_err("nobody");
            assert!(matches!(error, ClientError::Refused { status: 401, .. }), "{round}: {error:?}");
            let error =
                guest.client.archive_in(much(), &guest.path("d"), None).await.expect_err("no archive");
            assert!(matches!(error, ClientError::Refused { .. }), "{round}: {error:?}");
        }
    });
}

#[test]
fn files_of_proc_are_read_to_their_end() {
    let guest = TestGuest::start();
    run(async {
        let download = guest.client.download("/proc/self/status", None).await.expect("download");
        let text = download.bytes().await.expect("bytes");
        assert!(String::from_utf8_lossy(&text).contains("VmRSS"));
    });
}

#[test]
fn an_upload_that_breaks_leaves_no_new_file() {
    use tokio::io::AsyncReadExt;
    struct Broken;
    impl tokio::io::AsyncRead for Broken {
        fn poll_read(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            _: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Ready(Err(std::io::Error::other("broken")))
        }
    }
    let guest = TestGuest::start();
    run(async {
        let path = guest.path("half");
        let reader = tokio::io::repeat(7).take(1 << 20).chain(Broken);
        let error = guest.client.upload(reader, &path, None).await.expect_err("broken");
        assert!(matches!(error, ClientError::Local { .. }), "{error:?}");
        for _ in 0..200 {
            if !Path::new(&path).exists() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("half a file is left");
    });
}

#[test]
fn directories_are_made_listed_moved_and_removed() {
    let guest = TestGuest::start();
    run(async {
        let client = &guest.client;
        let made = client.make_dir(&guest.path("a/b/c"), None).await.expect("made");
        assert_eq!((made.name.as_str(), made.r#type()), ("c", FileType::Directory));
        assert_eq!(made.permissions, "drwxr-xr-x");
        let error = client.make_dir(&guest.path("a/b"), None).await.expect_err("it exists");
        assert!(matches!(error, ClientError::Refused { status: 409, .. }), "{error:?}");
        client.upload(&b"hi"[..], &guest.path("a/f"), None).await.expect("upload");
        symlink(guest.path("a/f"), guest.path("a/link")).expect("symlink");
        symlink("nowhere", guest.path("a/broken")).expect("symlink");

        let names = async |depth| {
            let entries = client.list(&guest.path("a"), depth, None).await.expect("list");
            entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>()
        };
        assert_eq!(names(1).await, ["b", "broken", "f", "link"]);
        assert_eq!(names(2).await, ["b", "c", "broken", "f", "link"]);

        let link = client.stat(&guest.path("a/link"), None).await.expect("stat");
        assert_eq!(link.r#type(), FileType::File);
        let target = std::fs::canonicalize(guest.path("a/f")).expect("canonical");
        assert_eq!(link.symlink_target.as_deref(), target.to_str());
        let broken = client.stat(&guest.path("a/broken"), None).await.expect("stat");
        assert_eq!(broken.r#type(), FileType::Symlink);

        client.rename(&guest.path("a/f"), &guest.path("x/y/f"), None).await.expect("moved");
        assert_eq!(std::fs::read_to_string(guest.path("x/y/f")).expect("read"), "hi");
        let error = client.rename(&guest.path("a/f"), &guest.path("z"), None).await.expect_err("gone");
        assert!(matches!(error, ClientError::FileNotFound { .. }), "{error:?}");
        for _ in 0..2 {
            client.remove(&guest.path("a"), None).await.expect("removed, or never there");
        }
        assert!(!Path::new(&guest.path("a")).exists());
    });
}

#[test]
fn uploads_belong_to_their_user() {
    if !rustix::process::getuid().is_root() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let guest = TestGuest::start();
    run(async {
        let path = guest.path("new/file");
        guest.client.upload(&b"x"[..], &path, Some("daemon")).await.expect("upload");
        for path in [path, guest.path("new")] {
            let entry = guest.client.stat(&path, None).await.expect("stat");
            assert_eq!((entry.owner.as_str(), entry.group.as_str()), ("daemon", "daemon"), "{path}");
        }
    });
}

#[test]
fn a_directory_survives_the_way_out_and_in() {
    let guest = TestGuest::start();
    let source = guest.path("source");
    std::fs::create_dir_all(format!("{source}/empty")).expect("mkdir");
    std::fs::create_dir_all(format!("{source}/{}", "long-name/".repeat(20))).expect("mkdir");
    std::fs::write(format!("{source}/script"), "#!/bin/sh\n").expect("write");
    std::fs::set_permissions(format!("{source}/script"), PermissionsExt::from_mode(0o750)).expect("chmod");
    std::fs::set_permissions(format!("{source}/empty"), PermissionsExt::from_mode(0o500)).expect("chmod");
    std::fs::write(format!("{source}/big"), vec![9; 3 << 20]).expect("write");
    symlink("script", format!("{source}/link")).expect("symlink");
    symlink("/nowhere", format!("{source}/broken")).expect("symlink");
    let fifo = Command::new("mkfifo").arg(format!("{source}/pipe")).status().expect("mkfifo");
    assert!(fifo.success());
    run(async {
        let archive =
            guest.client.archive_out(&source, None).await.expect("out").bytes().await.expect("bytes");
        let target = guest.path("made/target");
        let report = guest.client.archive_in(&archive[..], &target, None).await.expect("in");
        assert_eq!(report.skipped, Vec::<String>::new());
        std::fs::remove_file(format!("{source}/pipe")).expect("remove");
        let listing = |root: &str| {
            let output = Command::new("find").args([root, "-printf", "%P %y %m %T@ %l %s\n"]).output();
            let text = String::from_utf8(output.expect("find").stdout).expect("utf-8");
            // Fractions of a second and sizes of directories do not travel.
            let mut lines: Vec<String> = text
                .lines()
                .skip(1)
                .map(|line| {
                    let fields: Vec<&str> = line.split(' ').collect();
                    let time = if fields[1] == "f" { fields[3].split('.').next() } else { None };
                    let size = if fields[1] == "f" { fields[5] } else { "" };
                    format!("{} {} {} {time:?} {} {size}", fields[0], fields[1], fields[2], fields[4])
                })
                .collect();
            lines.sort();
            lines
        };
        assert_eq!(listing(&source), listing(&target));
    });
}

#[test]
fn an_archive_cannot_write_outside_its_directory() {
    let guest = TestGuest::start();
    let outside = guest.path("outside");
    std::fs::create_dir(&outside).expect("mkdir");
    let mut builder = tar::Builder::new(Vec::new());
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    link.set_mode(0o777);
    builder.append_link(&mut link, "out", &outside).expect("link");
    for (name, kind) in [
        ("out/file", tar::EntryType::Regular),
        ("out/dir", tar::EntryType::Directory),
        ("out/deep/file", tar::EntryType::Regular),
        ("device", tar::EntryType::Char),
        ("good", tar::EntryType::Regular),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(0);
        builder.append_data(&mut header, name, std::io::empty()).expect("entry");
    }
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    header.set_mode(0o644);
    let name = b"../outside/up";
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_cksum();
    builder.append(&header, std::io::empty()).expect("entry");
    let archive = builder.into_inner().expect("archive");
    run(async {
        let target = guest.path("target");
        let report = guest.client.archive_in(&archive[..], &target, None).await.expect("unpacked");
        let skipped = ["out/file", "out/dir", "out/deep/file", "device", "../outside/up"];
        assert_eq!(report.skipped, skipped);
        assert!(Path::new(&target).join("good").exists());
        assert_eq!(std::fs::read_dir(&outside).expect("list").count(), 0);
    });
}

#[test]
fn a_damaged_archive_is_an_error() {
    let guest = TestGuest::start();
    run(async {
        let error = guest.client.archive_in(&[b'x'; 2000][..], &guest.path("t"), None).await;
        assert!(error.is_err());
    });
}
