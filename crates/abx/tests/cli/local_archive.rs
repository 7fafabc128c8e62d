//! Templates in archives of this machine.

use std::path::Path;
use std::process::Command;

use crate::support::Abx;

const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: shop, version: \"1.0.0\"}\nbase: {from: base}\n";

/// `shop/` and the archives a user would make of it.
fn world() -> Abx {
    let abx = Abx::new();
    let shop = abx.home().join("shop");
    std::fs::create_dir_all(shop.join("files")).expect("mkdir");
    std::fs::write(shop.join("template.yaml"), TEMPLATE).expect("write");
    std::fs::write(shop.join("files/a"), "a").expect("write");
    for words in [["-czf", "root.tar.gz", "-C", "shop", "."], ["-czf", "top.tgz", "-C", ".", "shop"]] {
        tar(abx.home(), &words);
    }
    abx
}

fn tar(folder: &Path, words: &[&str]) {
    let output = Command::new("tar").args(words).current_dir(folder).output().expect("tar");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn an_archive_is_checked_and_resolved_as_its_directory() {
    let abx = world();
    let digest = |reference: &str, kind: &str| {
        let ran = abx.run(&["template", "resolve", reference, "--json"]);
        let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
        assert_eq!(value["kind"], kind);
        value["digest"].as_str().expect("a digest").to_owned()
    };
    let expected = digest("./shop", "directory");
    for archive in ["./root.tar.gz", "./top.tgz"] {
        let ran = abx.run(&["template", "validate", archive]);
        assert_eq!((ran.stdout.as_str(), ran.status), ("shop 1.0.0 is valid\n", Some(0)), "{ran:?}");
        assert!(!ran.stderr.contains("warning"), "{ran:?}");
        assert_eq!(digest(archive, "archive"), expected);
    }
}

#[test]
fn faults_are_shown_with_the_archives_name() {
    let abx = world();
    let failure = |reference: &str, status: i32, code: &str| {
        let ran = abx.run(&["template", "validate", reference]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""), "{ran:?}");
        assert!(ran.stderr.contains(&format!("error[{code}]")), "{ran:?}");
        ran.stderr
    };
    std::fs::write(abx.home().join("shop/template.yaml"), TEMPLATE.replace("base", "bass")).expect("write");
    tar(abx.home(), &["-czf", "wrong.tgz", "-C", "shop", "."]);
    assert!(failure("./wrong.tgz", 2, "E2004").contains("--> ./wrong.tgz/template.yaml:3:1"));
    let bytes = std::fs::read(abx.home().join("root.tar.gz")).expect("read");
    std::fs::write(abx.home().join("cut.tar.gz"), &bytes[..bytes.len() - 20]).expect("write");
    let stderr = failure("./cut.tar.gz", 1, "E5020");
    assert!(stderr.contains("cannot use `./cut.tar.gz`: the archive is damaged"), "{stderr}");
    assert!(stderr.contains("help: make or copy the archive again"), "{stderr}");
    std::fs::write(abx.home().join("page.zip"), "<html>").expect("write");
    assert!(failure("./page.zip", 1, "E5020").contains("neither .tar.gz, .tar nor .zip"));
    std::fs::write(abx.home().join("notes.txt"), "x").expect("write");
    failure("./notes.txt", 4, "E2001");
    failure("./none.tgz", 4, "E2001");
}

#[test]
fn what_has_no_content_is_named() {
    let abx = world();
    let pipe = abx.home().join("shop/files/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .expect("mkfifo");
    let ran = abx.run(&["template", "validate", "./shop"]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("warning: `files/pipe` is a FIFO and will be left out"), "{ran:?}");
    tar(abx.home(), &["-czf", "piped.tgz", "-C", "shop", "."]);
    let ran = abx.run(&["template", "validate", "./piped.tgz"]);
    assert!(ran.stderr.contains("./piped.tgz: \"files/pipe\" was left out: it is a FIFO"), "{ran:?}");
}
