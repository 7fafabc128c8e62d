//! Files and folders, there and back.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::Abx;
use crate::support::sandbox::Sandbox;

#[test]
fn a_file_goes_there_and_back() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let content: Vec<u8> = (0..2_000_000_u32).map(|byte| byte as u8).collect();
    std::fs::write(abx.home().join("data"), &content).expect("write");
    let inside = abx.home().join("inside/new name");
    let inside = inside.to_str().expect("text");
    let ran = abx.run(&["upload", "web", "data", inside]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stderr.ends_with(&format!("uploaded {inside} (1.9 MiB)\n")), "{}", ran.stderr);
    assert!(std::fs::read(inside).expect("read") == content);
    std::fs::set_permissions(inside, PermissionsExt::from_mode(0o750)).expect("chmod");

    let ran = abx.run(&["download", "web", inside, "back", "--json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("json");
    assert_eq!(value, serde_json::json!({ "path": "back", "bytes": content.len(), "skipped": [] }));
    let back = abx.home().join("back");
    assert!(std::fs::read(&back).expect("read") == content);
    assert_eq!(back.metadata().expect("back").permissions().mode() & 0o7777, 0o750);
}

#[test]
fn a_folder_goes_there_and_back_with_modes_and_links() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let source = abx.home().join("source");
    std::fs::create_dir_all(source.join("deep/empty")).expect("mkdir");
    std::fs::write(source.join("deep/tool"), "#!/bin/sh\n").expect("write");
    std::fs::set_permissions(source.join("deep/tool"), PermissionsExt::from_mode(0o755)).expect("chmod");
    std::fs::write(source.join("名.txt"), "x".repeat(300)).expect("write");
    symlink("deep/tool", source.join("link")).expect("link");
    let _socket = std::os::unix::net::UnixListener::bind(source.join("socket")).expect("socket");

    let inside = abx.home().join("inside");
    let ran = abx.run(&["upload", "web", "source", inside.to_str().expect("text")]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("warning: left out source/socket\n"), "{}", ran.stderr);
    check(&inside);
    let ran = abx.run(&["-q", "download", "web", inside.to_str().expect("text"), "back"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    check(&abx.home().join("back"));
}

fn check(folder: &Path) {
    assert_eq!(std::fs::read_to_string(folder.join("名.txt")).expect("read"), "x".repeat(300));
    assert_eq!(std::fs::read_link(folder.join("link")).expect("link"), Path::new("deep/tool"));
    let mode = folder.join("deep/tool").metadata().expect("tool").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(folder.join("deep/empty").is_dir());
    assert!(!folder.join("socket").exists());
}

#[test]
fn a_destination_that_is_a_folder_takes_the_source_in() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    std::fs::create_dir_all(abx.home().join("source")).expect("mkdir");
    std::fs::write(abx.home().join("source/file"), "x").expect("write");
    std::fs::create_dir_all(abx.home().join("inside")).expect("mkdir");
    let inside = abx.home().join("inside").to_str().expect("text").to_owned();
    for (source, expected) in
        [("source/file", "inside/file"), ("source", "inside/source/file"), ("source/.", "inside/file")]
    {
        let ran = abx.run(&["upload", "web", source, &inside]);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert!(abx.home().join(expected).exists(), "{source}");
        std::fs::remove_file(abx.home().join(expected)).expect("remove");
    }
}

#[test]
fn what_is_missing_on_either_side_is_e4001_and_leaves_nothing() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    for words in [&["upload", "web", "missing", "/tmp/x"][..], &["download", "web", "/missing", "here"]] {
        let ran = abx.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(4), ""), "{ran:?}");
        assert!(ran.stderr.contains("error[E4001]: "), "{}", ran.stderr);
    }
    assert!(!abx.home().join("here").exists());
}
