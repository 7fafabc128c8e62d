//! `abx upload` and `abx download`.

use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::shared;

fn hash(path: &Path) -> String {
    let mut hasher = Sha256::new();
    std::io::copy(&mut File::open(path).expect("file"), &mut hasher).expect("read");
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_large_file_goes_there_and_back() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let large = abx.write("large", "");
    let file = File::options().write(true).open(&large).expect("file");
    file.set_len(300 << 20).expect("length");
    for part in 0..300_u64 {
        file.write_all_at(format!("part {part}").as_bytes(), part * (1 << 20) + part * 7).expect("write");
    }
    let ran = abx.run(&["upload", &sandbox.id, "large", "/tmp/inside"]);
    assert_eq!(ran.success(), "");
    assert_eq!(sandbox.sh("sha256sum < /tmp/inside"), format!("{}  -\n", hash(&large)));
    abx.run(&["download", &sandbox.id, "/tmp/inside", "back"]).success();
    assert_eq!(hash(&abx.folder().join("back")), hash(&large));
}

#[test]
fn uploaded_files_belong_to_the_user_and_relative_paths_start_at_home() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    abx.write("note", "hello\n");
    abx.write("tool", "#!/bin/sh\necho tool runs\n");
    abx.run(&["upload", &sandbox.id, "note", "deep/er/note"]).success();
    abx.run(&["upload", &sandbox.id, "tool", "tool"]).success();
    assert_eq!(
        sandbox.sh("cat ~/deep/er/note; ~/tool; stat -c '%U %a' ~/deep ~/deep/er/note ~/tool"),
        "hello\ntool runs\nuser 755\nuser 644\nuser 755\n"
    );
    // Into a folder that is there, under its own name.
    abx.run(&["upload", &sandbox.id, "note", "/app/"]).success();
    assert_eq!(sandbox.sh("cat /app/note"), "hello\n");
    abx.run(&["download", &sandbox.id, "deep/er/note", "here"]).success();
    assert_eq!(std::fs::read_to_string(abx.folder().join("here")).expect("read"), "hello\n");
}

#[test]
fn a_folder_keeps_its_shape_modes_and_links() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    abx.write("source/a/tool", "#!/bin/sh\n");
    abx.write("source/a/b/text", "text\n");
    abx.write("source/.hidden", "");
    abx.write("source/名 x", "n");
    std::fs::create_dir(abx.folder().join("source/empty")).expect("folder");
    std::fs::set_permissions(abx.folder().join("source/a/b/text"), PermissionsExt::from_mode(0o640))
        .expect("chmod");
    symlink("a/tool", abx.folder().join("source/link")).expect("link");
    symlink("nowhere", abx.folder().join("source/dangling")).expect("link");
    abx.run(&["upload", &sandbox.id, "source", "/app/source"]).success();
    let list = "cd /app/source && find . -mindepth 1 -printf '%p %y %m %u %l\\n' | LC_ALL=C sort";
    let expected = "./.hidden f 644 user \n./a d 755 user \n./a/b d 755 user \n./a/b/text f 640 user \n\
                    ./a/tool f 755 user \n./dangling l 777 user nowhere\n./empty d 755 user \n\
                    ./link l 777 user a/tool\n./名 x f 644 user \n";
    assert_eq!(sandbox.sh(list), expected);
    abx.run(&["download", &sandbox.id, "/app/source", "back"]).success();
    let back = abx.folder().join("back");
    assert_eq!(std::fs::read_to_string(back.join("a/b/text")).expect("text"), "text\n");
    assert_eq!(std::fs::read_link(back.join("link")).expect("link"), Path::new("a/tool"));
    assert_eq!(std::fs::read_link(back.join("dangling")).expect("link"), Path::new("nowhere"));
    let mode = |path: &str| back.join(path).metadata().expect("there").permissions().mode() & 0o777;
    assert_eq!((mode("a/tool"), mode("a/b/text"), mode("empty")), (0o755, 0o640, 0o755));
}

#[test]
fn what_is_not_there_or_cannot_be_written_is_an_error() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    abx.write("note", "hello\n");
    abx.run(&["upload", &sandbox.id, "missing", "x"]).failure(4, "E4001");
    abx.run(&["download", &sandbox.id, "missing", "x"]).failure(4, "E4001");
    assert!(!abx.folder().join("x").exists());
    let ran = abx.run(&["upload", &sandbox.id, "note", "/proc/note"]);
    assert!(ran.status != Some(0) && ran.stderr.contains("error[E4"), "{ran:#?}");
}

#[test]
fn a_disk_that_fills_up_is_an_error_and_the_half_file_is_gone() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--disk", "256"]);
    let large = abx.write("large", "");
    File::options().write(true).open(&large).and_then(|file| file.set_len(400 << 20)).expect("length");
    abx.run(&["upload", &sandbox.id, "large", "/app/large"]).failure(6, "E4003");
    assert_eq!(sandbox.exec(&["test", "-e", "/app/large"]).status, Some(1), "half a file is left");
}
