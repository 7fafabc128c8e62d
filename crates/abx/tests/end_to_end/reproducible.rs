//! The same template comes to the same image, whenever it is built.

use abx_test::github::{LoopbackGithub, archive_of};
use abx_test::{Ran, TestContext, run};

use super::with_python;

const COMMIT: &str = "1111111111111111111111111111111111111111";
/// In November 2023.
const COMMITTED: u64 = 1_700_000_000;

#[test]
fn packages_of_python_are_installed_the_same_twice() {
    let Some(abx) = with_python() else { return };
    abx.write(
        "same/template.yaml",
        "version: \"1\"\nmetadata: {name: same}\nbase: {from: python-base}\nbuild:\n  pip_install: [six, attrs]\n  \
         run: [\"python -m compileall -q /usr/lib/python3.11/json\", \"printf 'x = {1, 2}' > m.py && python -c 'import m'\"]\n",
    );
    let ran = abx.run(&["template", "build", "./same", "--verify"]);
    assert!(ran.status == Some(0) && ran.stderr.contains("the same both times"), "{ran:?}");
    // Byte code that is out of date would be made anew at every start.
    let check = "import m, six; print(all(open(x.__cached__, 'rb').read()[8:12] == \
                 int(__import__('os').stat(x.__file__).st_mtime).to_bytes(4, 'little') for x in (m, six)))";
    let words = ["create", "--rm", "--network", "none", "same", "--", "python", "-c", check];
    assert_eq!(abx.run(&words).success(), "True\n");
}

#[test]
fn what_is_made_of_a_commit_is_no_newer_than_the_commit() {
    let Some(abx) = with_python() else { return };
    let github = LoopbackGithub::start();
    let template =
        "version: \"1\"\nmetadata: {name: timed}\nbase: {from: base}\nbuild: {run: [\"echo x > made\"]}\n";
    let files = [("template.yaml", template), ("files/hello.txt", "hello\n")];
    github.put_archive("o/r", "HEAD", COMMIT, archive_of(COMMITTED, "o-r-1111111", &files));
    let build = |more: &[&str]| {
        asking(&abx, &github, &[&["template", "build", "o/r", "--name", "timed"], more].concat()).success()
    };
    let export = |file: &str| {
        abx.run(&["template", "export", "timed", "-o", file]).success();
        std::fs::read(abx.folder().join(file)).expect("the file")
    };
    build(&[]);
    let first = export("one.tar");
    build(&["--no-cache"]);
    assert!(first == export("two.tar"), "another archive");
    let newest = newest(&first);
    assert_eq!(newest, COMMITTED, "the file that the step made");
}

/// The time of the newest file in the layers of an archive, other than those of the base.
fn newest(archive: &[u8]) -> u64 {
    let mut newest = 0;
    for member in tar::Archive::new(archive).entries().expect("an archive") {
        let member = member.expect("a member");
        // Layers are compressed, manifests are not.
        let mut layer = tar::Archive::new(flate2::read::GzDecoder::new(member));
        for file in layer.entries().into_iter().flatten().flatten() {
            newest = newest.max(file.header().mtime().expect("a time"));
        }
    }
    newest
}

fn asking(abx: &TestContext, github: &LoopbackGithub, words: &[&str]) -> Ran {
    let mut command = abx.command(words);
    command.env("ABX_GITHUB_API_URL", github.url());
    run(command)
}
