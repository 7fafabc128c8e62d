//! Text that has no place in the repository.
//!
//! Package tools take their hosts from the machine they run on, so no file names the host of a package registry. The
//! two defaults that must exist (the Debian mirror of a host without apt configuration, Docker Hub for short names)
//! are each written in one place of the code.

use std::path::PathBuf;

use super::Problem;
use super::files::SourceFile;

/// Hosts of package registries. Written in two parts, so that this file passes its own check.
const HOSTS: [&str; 17] = [
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("registry.npm", "js.org"),
    concat!("npm", "mirror.com"),
    concat!("registry.yarn", "pkg.com"),
    concat!("deb.", "debian.org"),
    concat!("ftp.", "debian.org"),
    concat!("security.", "debian.org"),
    concat!("snapshot.", "debian.org"),
    concat!("archive.", "ubuntu.com"),
    concat!("static.crates", ".io"),
    concat!("index.crates", ".io"),
    concat!("proxy.", "golang.org"),
    concat!("repo.maven.", "apache.org"),
    concat!("repo1.", "maven.org"),
    concat!("ruby", "gems.org"),
    concat!("conda.", "anaconda.org"),
];

/// Defaults of settings: allowed in the code of one file.
const DEFAULTS: [&str; 2] = [concat!("mirrors.", "aliyun.com"), concat!("registry-1.", "docker.io")];

/// Folders of one developer's machine.
const MACHINE: [&str; 6] = [
    concat!("/work", "/main"),
    concat!("/work", "/shared"),
    concat!("/root/", ".cargo"),
    concat!("/root/", ".pyenv"),
    concat!("/root/", ".rustup"),
    concat!("/Users", "/"),
];

/// Code that is not written yet.
const PLACEHOLDERS: [&str; 2] = [concat!("todo", "!("), concat!("unimplemented", "!(")];

/// A problem for each word that should not be there.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = files.iter().flat_map(in_file).collect();
    problems.extend(DEFAULTS.iter().flat_map(|host| in_several_files(host, files)));
    problems
}

fn in_file(file: &SourceFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let mut problem =
            |message| problems.push(Problem { file: file.path.clone(), line: index + 1, message });
        for host in HOSTS.iter().filter(|host| line.contains(**host)) {
            problem(format!("names {host}, the host of a package registry"));
        }
        for path in MACHINE.iter().filter(|path| line.contains(**path)) {
            problem(format!("names {path}, a folder of one machine"));
        }
        for word in PLACEHOLDERS.iter().filter(|word| file.is_rust() && line.contains(**word)) {
            problem(format!("{word}…) stands for code that is not written"));
        }
    }
    problems
}

/// A default in the code of more than one file: documentation, comments, examples and tests aside.
fn in_several_files(host: &str, files: &[SourceFile]) -> Vec<Problem> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let holders = files.iter().filter(|file| file.is_rust() && !is_test(file));
    let places: Vec<(&PathBuf, usize)> = holders
        .filter_map(|file| {
            let production = file.text.split("#[cfg(test)]").next().unwrap_or_default();
            let line = production.lines().position(|line| is_code(&line) && line.contains(host))?;
            Some((&file.path, line + 1))
        })
        .collect();
    let message = |first: &PathBuf| format!("{host} again: the default is in {}", first.display());
    let Some(((first, _), others)) = places.split_first() else { return Vec::new() };
    others
        .iter()
        .map(|(file, line)| Problem { file: (*file).clone(), line: *line, message: message(first) })
        .collect()
}

fn is_test(file: &SourceFile) -> bool {
    let apart = ["tests", "tests.rs", "examples", "abx-test"];
    file.path.iter().any(|part| apart.iter().any(|name| part == *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.into(), text: text.to_owned() };
        check(&[file]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_registry_a_machine_and_a_placeholder_are_found() {
        let host = HOSTS[5];
        assert_eq!(
            messages("docs/a.md", &format!("one\nhttp://{host}/debian")),
            [format!("docs/a.md:2: names {host}, the host of a package registry")]
        );
        assert_eq!(messages("a.rs", &format!("let x = \"{}\";", MACHINE[0])).len(), 1);
        assert_eq!(messages("a.rs", &format!("{}\"\")", PLACEHOLDERS[0])).len(), 1);
        assert_eq!(messages("a.md", PLACEHOLDERS[0]).len(), 0);
    }

    #[test]
    fn a_default_belongs_to_one_file() {
        let mirror = DEFAULTS[0];
        let file = |path: &str, text: String| SourceFile { path: path.into(), text };
        let files = [
            file("a.rs", format!("const MIRROR: &str = \"{mirror}\";")),
            file("b.rs", format!("/// Not `{mirror}`.\n#[cfg(test)]\nmod tests {{ {mirror} }}")),
            file("c.rs", format!("// why\nlet x = \"{mirror}\";")),
        ];
        let found: Vec<_> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(found, [format!("c.rs:2: {mirror} again: the default is in a.rs")]);
    }
}
