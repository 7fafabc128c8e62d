//! Files that change under the hands of an upload or download.

use std::process::Stdio;

use abx_test::{LiveSandbox, TestContext};

use crate::cell::cell;
use crate::lab;

const TRANSFERS: usize = 40;

/// What only root inside may read or write, and what the user tries to have overwritten or given to him.
fn secrets(sandbox: &LiveSandbox<'_>) {
    sandbox.root_sh(
        "rm -rf /srv/secret; mkdir -p /srv/secret/inner; echo of-root > /srv/secret/file; echo of-root > /srv/secret/inner/file; \
         chmod -R go= /srv/secret",
    );
}

fn untouched(sandbox: &LiveSandbox<'_>, told: &str) {
    let seen = sandbox.root_sh("cd /srv/secret; cat file inner/file; find . -printf '%p %u %g\\n' | sort");
    let expected =
        "of-root\nof-root\n. root root\n./file root root\n./inner root root\n./inner/file root root\n";
    assert_eq!(seen, expected, "{told}");
}

/// Lets the user inside swap `name` between a thing of his own and a link, as fast as he can, while `work` goes on.
fn while_swapped(sandbox: &LiveSandbox<'_>, own: &str, link: &str, work: impl Fn()) {
    let script = format!(
        "cd ~; rm -rf swap; nohup sh -c 'while [ ! -e stop ]; do {own}; rm -rf swap; ln -s {link} swap; rm -f swap; done' \
         > /dev/null 2>&1 & echo $!"
    );
    let script = format!("rm -f ~/stop; {script}");
    let _swapper = sandbox.sh(&script);
    work();
    sandbox.sh("touch ~/stop");
}

fn quietly(abx: &TestContext, words: &[&str]) {
    // Many fail, as what they go for is gone; how is not what is asked.
    let mut command = abx.command(words);
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

#[test]
fn an_upload_follows_no_link_further_than_its_user_may_go() {
    lab::run("transfers::an_upload_follows_no_link_further_than_its_user_may_go", |abx| {
        let sandbox = cell(abx);
        secrets(&sandbox);
        abx.write("data", "of-the-caller");
        for (own, link, target) in [
            ("echo x > swap", "/srv/secret/file", "/home/user/swap"),
            ("mkdir -p swap", "/srv/secret", "/home/user/swap/file"),
            ("mkdir -p swap/inner", "/srv/secret", "/home/user/swap/inner/file"),
        ] {
            while_swapped(&sandbox, own, link, || {
                for _ in 0..TRANSFERS {
                    quietly(abx, &["upload", &sandbox.id, "data", target]);
                }
            });
            untouched(&sandbox, &format!("{target} through {link}"));
        }
    });
}

#[test]
fn a_folder_that_is_uploaded_stays_in_its_place() {
    lab::run("transfers::a_folder_that_is_uploaded_stays_in_its_place", |abx| {
        let sandbox = cell(abx);
        secrets(&sandbox);
        for name in ["folder/file", "folder/inner/file", "folder/inner/other", "folder/new/deep/file"] {
            abx.write(name, "of-the-caller");
        }
        for (own, link, target) in [
            ("mkdir -p swap", "/srv/secret", "/home/user/swap"),
            ("mkdir -p swap/inner", "/srv/secret", "/home/user/swap/inner"),
        ] {
            while_swapped(&sandbox, own, link, || {
                for _ in 0..TRANSFERS {
                    quietly(abx, &["upload", &sandbox.id, "folder/.", target]);
                }
            });
            untouched(&sandbox, &format!("{target} through {link}"));
        }
        // A link that lies there already is followed only where it leads to something of the user's.
        sandbox.sh("rm -rf ~/swap ~/own; mkdir ~/own; ln -s own ~/swap");
        abx.run(&["upload", &sandbox.id, "folder/.", "/home/user/swap"]).success();
        assert_eq!(sandbox.sh("cat ~/own/inner/file"), "of-the-caller");
        sandbox.sh("rm -rf ~/swap; ln -s /srv/secret ~/swap");
        abx.run(&["upload", &sandbox.id, "folder/.", "/home/user/swap"]).failure(1, "E4002");
        untouched(&sandbox, "a link that stays");
    });
}

/// Where it lands on the host is never the sandbox's to say; of what it sends, that it is of the sandbox is all that
/// can be said.
#[test]
fn a_download_lands_where_it_was_asked_to() {
    lab::run("transfers::a_download_lands_where_it_was_asked_to", |abx| {
        let sandbox = cell(abx);
        std::fs::write("/tmp/abx-isolation-host", "of-the-host").expect("host file");
        sandbox.sh(
            "mkdir -p ~/out/deep; cd ~/out; ln -s /tmp/abx-isolation-host link; ln -s ../../../../.. up; ln -s /tmp deep/tmp; echo inside > file",
        );
        while_swapped(&sandbox, "mkdir swap; echo inside > swap/file", "/etc", || {
            for round in 0..TRANSFERS / 4 {
                quietly(abx, &["download", &sandbox.id, "/home/user/swap", &format!("got-{round}")]);
                quietly(abx, &["download", &sandbox.id, "/home/user/swap/file", &format!("file-{round}")]);
            }
        });
        abx.run(&["download", &sandbox.id, "/home/user/out", "out"]).success();
        let folder = abx.folder().join("out");
        assert_eq!(std::fs::read_to_string(folder.join("file")).expect("file"), "inside\n");
        assert!(folder.join("link").is_symlink(), "a link comes as a link");
        assert_eq!(std::fs::read_to_string("/tmp/abx-isolation-host").expect("host file"), "of-the-host");
        let _ = std::fs::remove_file("/tmp/abx-isolation-host");
    });
}
