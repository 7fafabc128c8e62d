//! References in real directories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use abx_core::{Fault, Home};
use abx_source::{
    BaseImage, Lineage, PackageRoot, SourceContext, SourceError, builtins, keep, resolve, validate,
};

/// A working directory with packages in it, and a home beside it.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("tempdir");
        fs::create_dir(dir.path().join("work")).expect("work");
        Self { dir }
    }

    fn context(&self) -> SourceContext {
        let user_home = Some(self.dir.path().join("user"));
        SourceContext::new(Home::new(self.dir.path().join("home")), self.dir.path().join("work"), user_home)
    }

    /// Writes a file below the working directory.
    fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.dir.path().join("work").join(path);
        fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
        fs::write(path, text).expect("write");
        self
    }

    fn package(&self, folder: &str, base: &str, rest: &str) -> &Self {
        let name = Path::new(folder).file_name().expect("name").to_str().expect("text");
        let text = format!("version: \"1\"\nmetadata: {{name: {name}}}\nbase: {{{base}}}\n{rest}");
        self.write(&format!("{folder}/template.yaml"), &text)
    }

    /// Gives an image without a template a name.
    fn store(&self, name: &str, tag: &str) -> &Self {
        self.build("docker://debian", name, tag)
    }

    /// Gives the image of a template a name, as a build does.
    fn build(&self, text: &str, name: &str, tag: &str) -> &Self {
        let lineage = self.resolve(text).expect(text);
        keep(&self.context().home, name, tag, &lineage).expect("keep");
        let names = self.dir.path().join("home/store/names").join(name);
        fs::create_dir_all(&names).expect("mkdir");
        fs::write(names.join(tag), "0123").expect("write");
        self
    }

    fn resolve(&self, text: &str) -> Result<Lineage, SourceError> {
        resolve(text, &self.context())
    }

    /// The lineage in one line, or the error's code and message.
    fn picture(&self, text: &str) -> String {
        match self.resolve(text) {
            Ok(lineage) => {
                let mut parts: Vec<String> = match &lineage.base {
                    BaseImage::Image { name, .. } => vec![format!("[{name}]")],
                    BaseImage::Stored { name, tag, .. } => vec![format!("<{name}:{tag}>")],
                    BaseImage::Vendored { .. } => vec!["<vendored>".to_owned()],
                    BaseImage::Scratch => vec!["<scratch>".to_owned()],
                };
                parts.extend(lineage.packages.iter().map(|package| package.display.clone()));
                parts.join(" ")
            }
            Err(error) => format!("{} {error}", error.code()),
        }
    }

    fn hints(&self, text: &str) -> Vec<String> {
        self.resolve(text).expect_err(text).hints()
    }
}

#[test]
fn every_builtin_resolves_down_to_an_image_and_is_without_fault() {
    let world = World::new();
    assert!(!builtins().is_empty());
    for builtin in builtins() {
        let report = validate(builtin.name, &world.context()).expect(builtin.name);
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        assert_eq!(report.lineage.leaf().expect("leaf").name, builtin.name);
    }
    assert_eq!(world.picture("python-base"), "[debian:bookworm-slim] base python-base");
    assert_eq!(world.picture("python"), "[debian:bookworm-slim] base python-base");
}

#[test]
fn names_are_builtin_then_alias_then_local() {
    let world = World::new();
    world
        .store("mine", "latest")
        .store("mine", "v1")
        .store("app", "1.0.0")
        .store("app", "1.2.0")
        .store("base", "own");
    let rows = [
        ("mine", "<mine:latest>"),
        ("mine:v1", "<mine:v1>"),
        ("mine:v2", "E2006 `mine` has no version `v2`"),
        ("app", "<app:1.2.0>"),
        ("app:~1.0", "<app:1.0.0>"),
        ("app:^2", "E2006 `app` has no version `^2`"),
        ("base:^1", "[debian:bookworm-slim] base"),
        ("base:own", "<base:own>"),
        ("base:99", "E2006 `base` has no version `99`"),
        ("docker://debian:trixie-slim", "[debian:trixie-slim]"),
        ("nothing", "E2001 there is no template called `nothing`"),
        ("hello/world", "E5005 `hello/world` has not been fetched from GitHub"),
        ("a b", "E2005 malformed reference `a b`: ` ` cannot stand in a template name"),
    ];
    for (text, expected) in rows {
        assert_eq!(world.picture(text), expected, "for `{text}`");
    }
}

#[test]
fn an_unknown_name_shows_names_like_it_and_a_folder_of_that_name() {
    let world = World::new();
    world.package("folder", "image: debian", "").store("mine", "latest");
    assert_eq!(world.hints("pyton-base"), ["did you mean `python-base`?"]);
    assert_eq!(world.hints("mines"), ["did you mean `mine`?"]);
    assert_eq!(world.hints("folder"), ["there is a directory of that name here: write `./folder`"]);
}

#[test]
fn a_folder_does_not_hijack_a_builtin() {
    let world = World::new();
    world.package("base", "image: alpine", "");
    assert_eq!(world.picture("base"), "[debian:bookworm-slim] base");
    assert_eq!(world.picture("./base"), "[alpine] ./base");
}

#[test]
fn directories_in_every_spelling() {
    let world = World::new();
    world.package("mine", "image: debian", "");
    let absolute = world.dir.path().join("work/mine").display().to_string();
    let rows = [
        ("./mine".to_owned(), "[debian] ./mine".to_owned()),
        ("./mine/".to_owned(), "[debian] ./mine".to_owned()),
        ("file:mine".to_owned(), "[debian] mine".to_owned()),
        (format!("file:{absolute}"), format!("[debian] {absolute}")),
        (absolute.clone(), format!("[debian] {absolute}")),
        ("./mine/template.yaml".to_owned(), "[debian] ./mine".to_owned()),
        ("./none".to_owned(), "E2001 there is no directory `./none`".to_owned()),
        (".".to_owned(), "E2001 there is no template.yaml in `.`".to_owned()),
        ("~/none".to_owned(), "E2001 there is no directory `~/none`".to_owned()),
    ];
    for (text, expected) in rows {
        assert_eq!(world.picture(&text), expected, "for `{text}`");
    }
}

#[test]
fn inheritance_from_builtins_folders_and_local_names() {
    let world = World::new();
    world.store("built", "latest");
    world.package("a", "from: ../b", "").package("b", "from: python-base", "").package(
        "c",
        "from: built",
        "",
    );
    world.package("sub/d", "from: ../../a", "").package("ghost", "from: gost", "");
    assert_eq!(world.picture("./a"), "[debian:bookworm-slim] base python-base ./b ./a");
    assert_eq!(world.picture("./c"), "<built:latest> ./c");
    assert_eq!(world.picture("./sub/d"), "[debian:bookworm-slim] base python-base ./b ./a ./sub/d");
    let error = world.resolve("./ghost").expect_err("unknown parent");
    assert_eq!(error.code().as_str(), "E2001");
    let snippet = &error.snippets()[0];
    assert_eq!((snippet.file.as_str(), snippet.line, snippet.column), ("./ghost/template.yaml", 3, 14));
    assert!(snippet.source.contains("from: gost"));
}

#[test]
fn the_bare_base_of_the_shorthand_is_a_template_else_an_image() {
    let world = World::new();
    for (base, expected) in [
        ("python-base", "[debian:bookworm-slim] base python-base ./s"),
        ("python", "[debian:bookworm-slim] base python-base ./s"),
        ("python:3.12-slim", "[python:3.12-slim] ./s"),
        ("node:20-slim", "[node:20-slim] ./s"),
    ] {
        world.write("s/sandbox.yaml", &format!("name: s\nbase: {base}\n"));
        assert_eq!(world.picture("./s"), expected);
    }
}

#[test]
fn circles_and_depth_are_drawn() {
    let world = World::new();
    world.package("a", "from: ../b", "").package("b", "from: ../c", "").package("c", "from: ../b", "");
    let error = world.resolve("./a").expect_err("circle");
    assert_eq!(error.code().as_str(), "E2007");
    assert_eq!(error.to_string(), "templates inherit from each other in a circle: ./b → ./c → ./b");
    assert_eq!(error.snippets()[0].file, "./c/template.yaml");
    for depth in 0..8 {
        world.package(&format!("d{depth}"), &format!("from: ../d{}", depth + 1), "");
    }
    world.package("d8", "image: debian", "");
    assert_eq!(world.resolve("./d1").expect("eight are allowed").packages.len(), 8);
    let error = world.resolve("./d0").expect_err("nine");
    assert_eq!(error.code().as_str(), "E2007");
    assert!(error.to_string().ends_with("./d7 → ./d8"), "{error}");
}

#[test]
fn faulty_packages() {
    let world = World::new();
    world.package("both", "image: debian", "").write("both/sandbox.yaml", "name: x\n");
    world
        .write("yml/template.yml", "")
        .write("baseless/template.yaml", "version: \"1\"\nmetadata: {name: b}\n");
    world.write("archive.tar.gz", "").write("text", "");
    let rows = [
        ("./both", "E2004 `./both` has both a template.yaml and a sandbox.yaml"),
        ("./yml", "E2001 there is no template.yaml in `./yml`"),
        ("./baseless", "E2004 the key `base` is missing"),
        (
            "./archive.tar.gz",
            "E5020 cannot use `./archive.tar.gz`: it is no archive: neither .tar.gz, .tar nor .zip",
        ),
        ("./text", "E2001 `./text` is a file, and a template is a directory with a template.yaml"),
    ];
    for (text, expected) in rows {
        assert_eq!(world.picture(text), expected, "for `{text}`");
    }
    fs::write(world.dir.path().join("work/yml/template.yaml"), b"\xff").expect("write");
    assert_eq!(world.picture("./yml"), "E2004 `./yml/template.yaml` is no UTF-8 text, from line 1 on");
    assert!(world.resolve("./baseless").expect_err("no base").hints()[0].contains("image"));
}

#[test]
fn missing_copy_sources_are_shown_at_their_line_beside_other_faults() {
    let world = World::new();
    let copies = "build:\n  copy:\n    - {src: there, dest: /a}\n    - {src: gone, dest: /b}\n    \
                  - src: out\n      dest: /c\nresources: {cpu: 0}\n";
    world.package("p", "image: debian", copies).write("p/there", "");
    std::os::unix::fs::symlink("/etc", world.dir.path().join("work/p/out")).expect("symlink");
    let error = world.resolve("./p").expect_err("faults");
    let mut faults = vec![(error.to_string(), error.snippets()[0].line, error.snippets()[0].column)];
    faults.extend(
        error.others().iter().map(|it| (it.to_string(), it.snippets()[0].line, it.snippets()[0].column)),
    );
    let expected = [
        ("there is no `gone` in the package".to_owned(), 7, 13),
        ("`out` leads out of the package through a link".to_owned(), 8, 12),
        ("`resources.cpu` is 0, outside of 0.1 to 64".to_owned(), 10, 18),
    ];
    assert_eq!(faults, expected);
    assert_eq!(error.snippets()[0].length, 4);
}

#[test]
fn validation_warns_of_what_surprises_later() {
    let world = World::new();
    world.write(
        "folder/template.yaml",
        "version: \"1\"\nmetadata:\n  name: other\nbase: {image: debian}\nnetwork: {ports: [80, 80]}\n",
    );
    world.write("folder/scripts/setup.sh", "echo hi\r\n").write("folder/scripts/note.txt", "");
    let report = validate("./folder", &world.context()).expect("valid");
    let warnings: Vec<_> = report
        .warnings
        .iter()
        .map(|it| format!("{}:{} {it}", it.snippets()[0].file, it.snippets()[0].line))
        .collect();
    assert_eq!(
        warnings,
        [
            "./folder/template.yaml:5 port 80 is listed twice",
            "./folder/template.yaml:3 the package's folder is called `folder`, the template `other`",
            "scripts/setup.sh:1 `scripts/setup.sh` is not executable",
            "scripts/setup.sh:1 `scripts/setup.sh` has Windows line ends",
            "scripts/setup.sh:1 `scripts/setup.sh` has no `#!` line",
        ]
    );
}

#[test]
fn a_digest_follows_what_counts_and_nothing_else() {
    let world = World::new();
    world.package("p", "image: debian", "build: {copy: [{src: data, dest: /data}]}\n");
    world
        .write("p/files/a", "1")
        .write("p/data/b", "2")
        .write("p/README.md", "3")
        .write("p/data/.git/HEAD", "4");
    let digest = || world.resolve("./p").expect("package").leaf().expect("leaf").digest().expect("digest");
    let first = digest();
    assert!(first.starts_with("sha256:") && first.len() == 71);
    world.write("p/README.md", "changed").write("p/data/.git/HEAD", "changed").write("p/other/x", "");
    assert_eq!(digest(), first);
    let path = world.dir.path().join("work/p/data/b");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod");
    let executable = digest();
    assert_ne!(executable, first);
    world.write("p/data/b", "changed");
    assert_ne!(digest(), executable);
}

#[test]
fn a_built_template_and_its_children_inherit_what_its_files_said() {
    let world = World::new();
    let keys = "resources: {cpu: 2}\nsandbox: {user: me, startup_command: serve}\nnetwork: {ports: [80]}\n\
                agent: {instructions: read me}\nbuild: {env: {A: b}}\n";
    world.package("mine", "from: base", keys).build("./mine", "app", "v1");
    fs::remove_dir_all(world.dir.path().join("work/mine")).expect("the folder is not needed any more");
    world.package("child", "from: app:v1", "network: {ports: [81]}\n");

    let lineage = world.resolve("./child").expect("child");
    assert_eq!(world.picture("./child"), "<app:v1> base mine ./child");
    let is_stored = |root: &PackageRoot| matches!(root, PackageRoot::Stored { .. });
    let stored: Vec<bool> = lineage.packages.iter().map(|package| is_stored(&package.root)).collect();
    assert_eq!(stored, [true, true, false]);
    let effective = lineage.effective();
    assert_eq!((effective.cpu, effective.user.as_str(), effective.ports), (2.0, "me", vec![80, 81]));
    let command = effective.startup_command.expect("command");
    assert_eq!((command.value.as_str(), command.place.file.as_str()), ("serve", "template.yaml of mine"));
    assert_eq!(effective.agent.instructions.as_deref(), Some("read me"));

    assert_eq!(world.picture("app:v1"), "<app:v1> base mine");
    world.build("./child", "grandchild", "latest");
    assert_eq!(world.picture("grandchild"), "<grandchild:latest> base mine child");
}

#[test]
fn a_second_build_of_a_tag_replaces_what_was_kept() {
    let world = World::new();
    world.package("a", "image: debian", "").package("b", "from: base", "");
    world.build("./a", "app", "1.0.0").build("./b", "app", "1.0.0").build("./a", "app", "1.1.0");
    assert_eq!(world.picture("app:1.0.0"), "<app:1.0.0> base b");
    assert_eq!(world.picture("app:^1"), "<app:1.1.0> a");
}

#[test]
fn a_health_check_script_in_an_image_is_remembered() {
    let world = World::new();
    world.package("a", "image: debian", "").write("a/scripts/healthcheck.sh", "").build("./a", "app", "v1");
    world.package("b", "from: app:v1", "").build("./b", "app", "v2");
    let lineage = world.resolve("app:v2").expect("stored twice");
    let has: Vec<bool> = lineage.packages.iter().map(abx_source::Package::has_healthcheck).collect();
    assert_eq!(has, [true, false]);
}

#[test]
fn packages_within_an_image_count_for_the_depth() {
    let world = World::new();
    world.package("a0", "image: debian", "").build("./a0", "app", "v0");
    for depth in 1..8 {
        world.package(&format!("a{depth}"), &format!("from: app:v{}", depth - 1), "");
        world.build(&format!("./a{depth}"), "app", &format!("v{depth}"));
    }
    world.package("a8", "from: app:v7", "");
    let error = world.resolve("./a8").expect_err("nine");
    assert_eq!(error.code().as_str(), "E2007");
    assert!(error.to_string().ends_with("./a8 → a7 → a6 → a5 → a4 → a3 → a2 → a1 → a0"), "{error}");
    assert_eq!(error.snippets()[0].file, "./a8/template.yaml");
}

#[test]
fn a_lost_or_damaged_specification_says_to_build_again() {
    let world = World::new();
    world.store("app", "v1");
    let kept = world.dir.path().join("home/store/lineages/app/v1.json");
    let again = ["build it again: `abx template build PATH --name app --tag v1`"];
    let rows = [
        ("[", "E2004 the specification kept for `app:v1` is damaged"),
        (
            r#"[{"name": "app", "text": "version: 2", "has_healthcheck": false}]"#,
            "E2004 the specification kept for `app:v1` is damaged",
        ),
    ];
    for (text, expected) in rows {
        fs::write(&kept, text).expect("write");
        assert_eq!(world.picture("app:v1"), expected, "for `{text}`");
        assert_eq!(world.hints("app:v1"), again);
    }
    fs::remove_file(&kept).expect("remove");
    assert_eq!(world.picture("app:v1"), "E2001 the image of `app:v1` is here, but not its specification");
    assert_eq!(world.hints("app:v1"), again);
}

#[test]
fn a_local_name_is_one_that_a_reference_can_say() {
    let rows = [
        ("mine", "v1.0", "fine"),
        ("mine", "latest", "fine"),
        ("a/b", "v1", "E2005 malformed reference `a/b:v1`: `/` cannot stand in a template name"),
        ("..", "v1", "E2005 malformed reference `..:v1`: `..` is no template name"),
        ("mine", "^1", "E2005 malformed reference `mine:^1`: `^` cannot stand in an image tag"),
        ("mine", "", "E2005 malformed reference `mine:`: the image tag is missing"),
    ];
    for (name, tag, expected) in rows {
        let found = match abx_source::check_local_name(name, tag) {
            Ok(()) => "fine".to_owned(),
            Err(error) => format!("{} {error}", error.code()),
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn a_builtin_cannot_lean_on_a_directory() {
    static LEANING: [abx_source::Builtin; 1] = [abx_source::Builtin {
        name: "leaning",
        files: &[abx_source::EmbeddedFile {
            path: "template.yaml",
            executable: false,
            content: b"version: \"1\"\nmetadata: {name: leaning}\nbase: {from: ../x}\n",
        }],
    }];
    let world = World::new();
    let context = SourceContext { builtins: &LEANING, ..world.context() };
    let error = resolve("leaning", &context).expect_err("refused");
    assert_eq!(error.code().as_str(), "E2004");
    assert_eq!(error.snippets()[0].file, "template.yaml of leaning");
}
