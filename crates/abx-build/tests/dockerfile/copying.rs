//! `COPY` and `WORKDIR`: which files, where to, as whose.

use std::os::unix::fs::{PermissionsExt, symlink};

use abx_core::{Code, Fault};

use crate::world::{World, outcomes};

pub(crate) const ALL: &[(&str, fn())] = &[
    ("where_files_go", where_files_go),
    ("what_cannot_be_copied_is_refused_with_its_line", what_cannot_be_copied_is_refused),
    ("patterns_ignore_files_and_excluded_ones", patterns_ignore_files_and_excluded_ones),
    ("parents_keep_the_folders", parents_keep_the_folders),
    ("owners_and_modes", owners_and_modes),
    ("links_are_followed_at_the_destination_alone", links_are_followed_at_the_destination_alone),
    ("documents_become_files", documents_become_files),
    ("a_workdir_is_made_for_the_user", a_workdir_is_made_for_the_user),
    ("times_do_not_count_and_changes_do", times_do_not_count_and_changes_do),
];

/// Builds `COPY` lines over the tools, and lists what they wrote.
fn copied(world: &World, lines: &str) -> Vec<String> {
    world.listing(&world.build(&format!("FROM tools\n{lines}\n")))
}

fn where_files_go() {
    let world = World::new();
    world.file("a", "a").file("b", "b").file("d/x", "x").file("d/s/y", "y");
    std::fs::set_permissions(world.path("d"), std::fs::Permissions::from_mode(0o700)).expect("chmod");
    std::fs::set_permissions(world.path("d/s"), std::fs::Permissions::from_mode(0o750)).expect("chmod");
    let rows: [(&str, &[&str]); 10] = [
        ("COPY a /n", &["644 0:0 n = a"]),
        ("COPY a /n/", &["755 0:0 n/", "644 0:0 n/a = a"]),
        ("COPY a /n/m", &["755 0:0 n/", "644 0:0 n/m = a"]),
        ("COPY a /root", &["755 0:0 root/", "644 0:0 root/a = a"]),
        ("COPY a b /n/", &["755 0:0 n/", "644 0:0 n/a = a", "644 0:0 n/b = b"]),
        ("COPY a b /root", &["755 0:0 root/", "644 0:0 root/a = a", "644 0:0 root/b = b"]),
        // The content of a directory, which itself is made with the usual mode.
        ("COPY d /n", &["755 0:0 n/", "750 0:0 n/s/", "644 0:0 n/s/y = y", "644 0:0 n/x = x"]),
        ("WORKDIR /w\nCOPY d/s .", &["755 0:0 w/", "644 0:0 w/y = y"]),
        ("WORKDIR /w\nCOPY ../../d/./x /w/../v", &["644 0:0 v = x", "755 0:0 w/"]),
        ("COPY --link [\"a\", \"/with space\"]", &["644 0:0 with space = a"]),
    ];
    for (lines, expected) in rows {
        assert_eq!(copied(&world, lines), expected, "{lines}");
    }
    // The mode of a directory below the source wins over that of one that is there.
    let lines = copied(&world, "RUN mkdir -p -m 777 /n/s\nCOPY d /n");
    assert!(lines.contains(&"750 0:0 n/s/".to_owned()), "{lines:?}");
    world.assert_clean();
}

fn what_cannot_be_copied_is_refused() {
    let world = World::new();
    world.file("a", "a").file("d/etc/x", "x").file("f/bin/y", "y").file("secret", "s");
    world.file(".dockerignore", "secret\n");
    symlink("../../../../etc/passwd", world.path("out")).expect("link");
    let rows = [
        ("COPY missing /", "there is no `missing` in the build context"),
        ("COPY out /", "there is no `out` in the build context"),
        ("COPY secret /", "`secret` is left out of the build context by the ignore file"),
        ("COPY [ad] /n", "several files need a destination that ends with `/`"),
        ("COPY a d /n", "several files need a destination that ends with `/`"),
        ("COPY --from=tools /nope /", "there is no `/nope` in the image `tools`"),
        ("COPY a /etc/passwd/x", "`/etc/passwd` cannot be a destination: it is below a file"),
        ("COPY d /etc/passwd", "`/etc/passwd` is no directory in the image"),
        ("COPY d/etc/x /n/x/\nCOPY d/etc /n", "`/n/x` is a directory in the image"),
        ("COPY f /", "`/bin` is no directory in the image"),
        ("COPY --chown=nobody-here a /", "the image has no user `nobody-here`"),
        ("COPY --chown=root:nobody-here a /", "the image has no group `nobody-here`"),
        ("COPY --chown=100000 a /", "the id 100000 is beyond 65535"),
    ];
    for (lines, expected) in rows {
        let text = format!("FROM tools\n{lines}\n");
        let error = world.try_build(&text).expect_err(lines);
        assert!(error.to_string().contains(expected), "{lines}: {error}");
        assert_eq!(error.code(), Code::BuildStep, "{lines}");
        assert_eq!(error.snippets()[0].line, 1 + lines.lines().count(), "{lines}");
    }
    world.assert_clean();
}

fn patterns_ignore_files_and_excluded_ones() {
    let world = World::new();
    world.file("a.txt", "a").file("b.txt", "b").file("c.md", "c").file("d/e.txt", "e").file("d/f.md", "f");
    world.file("n/deep/keep.py", "k").file("n/drop.py", "d").file(".git/x", "x");
    world.file(".dockerignore", "# nothing of git\n.git\nn\n!n/deep\n.dockerignore\n");
    assert_eq!(
        copied(&world, "COPY *.txt /n/"),
        ["755 0:0 n/", "644 0:0 n/a.txt = a", "644 0:0 n/b.txt = b"]
    );
    assert_eq!(copied(&world, "COPY d/?.m[a-d] /n/"), ["755 0:0 n/", "644 0:0 n/f.md = f"]);
    assert_eq!(
        copied(&world, "COPY --exclude=**/*.txt --exclude=d/f* . /n/"),
        [
            "755 0:0 n/",
            "644 0:0 n/c.md = c",
            "755 0:0 n/d/",
            "755 0:0 n/n/",
            "755 0:0 n/n/deep/",
            "644 0:0 n/n/deep/keep.py = k"
        ]
    );
    assert_eq!(copied(&world, "COPY --exclude=b.txt *.txt /n/"), ["755 0:0 n/", "644 0:0 n/a.txt = a"]);
    assert_eq!(copied(&world, "COPY n /n"), ["755 0:0 n/", "755 0:0 n/deep/", "644 0:0 n/deep/keep.py = k"]);
}

fn parents_keep_the_folders() {
    let world = World::new();
    world.file("a/b/c.txt", "c").file("a/b/d.md", "d").file("a/e.txt", "e").file("f.txt", "f");
    assert_eq!(
        copied(&world, "COPY --parents a/b/c.txt f.txt /n/"),
        ["755 0:0 n/", "755 0:0 n/a/", "755 0:0 n/a/b/", "644 0:0 n/a/b/c.txt = c", "644 0:0 n/f.txt = f"]
    );
    assert_eq!(
        copied(&world, "COPY --parents a/./b /n/"),
        ["755 0:0 n/", "755 0:0 n/b/", "644 0:0 n/b/c.txt = c", "644 0:0 n/b/d.md = d"]
    );
    assert_eq!(
        copied(&world, "COPY --parents ./**/*.txt /n/"),
        [
            "755 0:0 n/",
            "755 0:0 n/a/",
            "755 0:0 n/a/b/",
            "644 0:0 n/a/b/c.txt = c",
            "644 0:0 n/a/e.txt = e",
            "644 0:0 n/f.txt = f"
        ]
    );
}

fn owners_and_modes() {
    let world = World::new();
    world.file("a", "a").file("d/s/x", "x");
    std::fs::set_permissions(world.path("a"), std::fs::Permissions::from_mode(0o640)).expect("chmod");
    let user = "RUN echo app:x:20:30::/: >> /etc/passwd; echo staff:x:40: >> /etc/group\n";
    let own = |line: &str| {
        let lines = copied(&world, &format!("{user}{line}"));
        lines.into_iter().filter(|line| !line.contains(" etc/")).collect::<Vec<_>>()
    };
    assert_eq!(own("COPY a /n/"), ["755 0:0 n/", "640 0:0 n/a = a"]);
    assert_eq!(own("COPY --chown=app a /n/"), ["755 20:30 n/", "640 20:30 n/a = a"]);
    assert_eq!(own("COPY --chown=app:staff --chmod=u+x,o=r a /n"), ["744 20:40 n = a"]);
    assert_eq!(
        own("COPY --chown=1:2 --chmod=0700 d /n"),
        ["755 1:2 n/", "700 1:2 n/s/", "700 1:2 n/s/x = x"]
    );
    // USER does not matter to COPY.
    assert_eq!(own("USER app\nCOPY a /n"), ["640 0:0 n = a"]);
}

fn links_are_followed_at_the_destination_alone() {
    let world = World::new();
    world.file("a", "a").file("d/l", "new");
    symlink("a", world.path("to-a")).expect("link");
    symlink("/nowhere", world.path("d/dangling")).expect("link");
    assert_eq!(copied(&world, "COPY to-a /n"), ["644 0:0 n = a"], "a source that is a link is followed");
    let lines = copied(&world, "RUN mkdir /real; ln -s ../../../real /link\nCOPY a /link/\n");
    assert!(lines.contains(&"644 0:0 real/a = a".to_owned()), "{lines:?}");
    let lines = copied(&world, "RUN ln -s /etc/target /link\nCOPY a /link\n");
    assert!(lines.contains(&"644 0:0 etc/target = a".to_owned()), "{lines:?}");
    let lines = copied(&world, "RUN mkdir /n; ln -s /etc/passwd /n/l\nCOPY d /n\n");
    assert!(lines.contains(&"644 0:0 n/l = new".to_owned()), "{lines:?}");
    assert!(lines.contains(&"777 0:0 n/dangling -> /nowhere".to_owned()), "{lines:?}");
}

fn documents_become_files() {
    let world = World::new();
    let built = world.build(
        "FROM tools\nARG WHO=me\nCOPY <<one <<\"two\" /n/\nhi $WHO\none\nraw $WHO\ntwo\n\
         COPY --chmod=755 <<EOF /bin/tool\n#!/bin/sh\necho tool\nEOF\nRUN tool > /out\n",
    );
    assert_eq!(world.read(&built, "n/one").as_deref(), Some("hi me\n"));
    assert_eq!(world.read(&built, "n/two").as_deref(), Some("raw $WHO\n"));
    assert_eq!(world.read(&built, "out").as_deref(), Some("tool\n"));
}

fn a_workdir_is_made_for_the_user() {
    let world = World::new();
    let lines = copied(&world, "USER 5:6\nWORKDIR /w/x\nWORKDIR y\nWORKDIR /tmp\n");
    assert_eq!(lines, ["755 5:6 w/", "755 5:6 w/x/", "755 5:6 w/x/y/"]);
    let built = world.build("FROM tools\nENV D=/a\nWORKDIR $D/b/\nWORKDIR ../c\nRUN pwd > /out\n");
    assert_eq!(world.read(&built, "out").as_deref(), Some("/a/c\n"));
    assert_eq!(built.image.config.workdir, "/a/c");
}

fn times_do_not_count_and_changes_do() {
    let world = World::new();
    world.file("d/a", "1").file("d/b", "1").file("e", "1");
    let text = "FROM tools\nCOPY d /d\nCOPY e /e\nRUN cat /d/a > /out\n";
    let signs =
        || -> String { outcomes(&world.build(text)).iter().map(|outcome| outcome[..1].to_owned()).collect() };
    assert_eq!(signs(), "+++");
    world.file("d/a", "1").file("other", "not copied");
    assert_eq!(signs(), "===");
    world.file("e", "2");
    assert_eq!(signs(), "=++");
    std::fs::set_permissions(world.path("d/b"), std::fs::Permissions::from_mode(0o600)).expect("chmod");
    assert_eq!(signs(), "+++");
    world.file("d/a", "2");
    assert_eq!(signs(), "+++");
}
