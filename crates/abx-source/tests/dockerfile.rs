//! Packages whose Dockerfile defines the image.

use abx_core::{Fault, Home};
use abx_source::{BaseImage, DockerfileOptions, Lineage, SourceContext, SourceError, kept, resolve};

const FLASK: &str = "\
FROM registry.sandbox.alicloud.com/templates/python-base:latest
RUN pip install flask
COPY ./config/ /app/config/
EXPOSE 5000 6379/udp
WORKDIR /srv
WORKDIR web
USER www
HEALTHCHECK --interval=5s --start-period=1m CMD curl -f http://localhost:5000/
CMD [\"python\", \"main app.py\"]
";

struct World {
    dir: tempfile::TempDir,
    context: SourceContext,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("tempdir");
        let work = dir.path().join("work");
        std::fs::create_dir(&work).expect("mkdir");
        let context = SourceContext::new(Home::new(dir.path().join("state")), work, None);
        Self { dir, context }
    }

    fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.dir.path().join("work").join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
        std::fs::write(path, text).expect("write");
        self
    }

    /// A package with a template.yaml of these further lines.
    fn package(&self, name: &str, yaml: &str, dockerfile: &str) -> &Self {
        let text = format!("version: \"1\"\nmetadata: {{name: {name}}}\n{yaml}");
        self.write(&format!("{name}/template.yaml"), &text);
        self.write(&format!("{name}/Dockerfile"), dockerfile)
    }

    #[track_caller]
    fn resolve(&self, text: &str) -> Lineage {
        resolve(text, &self.context).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// Every fault: its code, message and places.
    #[track_caller]
    fn faults(&self, text: &str) -> Vec<String> {
        let error = resolve(text, &self.context).expect_err("a fault");
        std::iter::once(&error as &dyn Fault).chain(error.others()).map(shown).collect()
    }
}

fn shown(fault: &dyn Fault) -> String {
    let places: Vec<String> =
        fault.snippets().iter().map(|at| format!("{}:{}:{}", at.file, at.line, at.column)).collect();
    format!("{} {fault} @ {}", fault.code().as_str(), places.join(" "))
}

fn names(lineage: &Lineage) -> Vec<&str> {
    lineage.packages.iter().map(|package| package.name.as_str()).collect()
}

#[test]
fn a_folder_with_a_dockerfile_alone_is_a_package_named_after_it() {
    let world = World::new();
    world.write("My Flask/Dockerfile", FLASK).write("My Flask/config/a", "");
    let lineage = world.resolve("./My Flask");
    assert_eq!(names(&lineage), ["base", "python-base", "my-flask"]);
    assert!(matches!(&lineage.base, BaseImage::Image { name, .. } if name == "debian:bookworm-slim"));
    // The file itself in the place of its folder.
    assert_eq!(names(&world.resolve("./My Flask/Dockerfile")), ["base", "python-base", "my-flask"]);

    let mut context = world.context.clone();
    context.dockerfile = DockerfileOptions { name: Some("shop".into()), ..DockerfileOptions::default() };
    assert_eq!(resolve("./My Flask", &context).expect("a lineage").leaf().expect("a leaf").name, "shop");

    world.write("___/Dockerfile", "FROM debian\n");
    assert!(matches!(resolve("./___", &world.context), Err(SourceError::NoName { .. })));
    world.write("podman/Containerfile", "FROM debian:12\n");
    let lineage = world.resolve("./podman");
    assert!(matches!(&lineage.base, BaseImage::Image { name, .. } if name == "debian:12"));
}

#[test]
fn what_a_dockerfile_says_of_the_sandbox_counts_unless_the_template_says_it() {
    let world = World::new();
    world.package("said", "", FLASK).write("said/config/a", "");
    let effective = world.resolve("./said").effective();
    assert_eq!((effective.user.as_str(), effective.workdir.as_str()), ("www", "/srv/web"));
    assert_eq!(effective.ports, [5000]);
    let startup = effective.startup_command.expect("a command");
    assert_eq!((startup.value.as_str(), startup.place.line), ("python 'main app.py'", 9));
    assert_eq!(startup.place.file, "./said/Dockerfile");
    let check = effective.healthcheck.expect("a check");
    assert_eq!(
        (check.command.value.as_str(), check.interval, check.start_period),
        ("curl -f http://localhost:5000/", 5.0, 60.0)
    );

    let yaml = "network: {ports: [80]}\nsandbox: {user: me, workdir: /own, startup_command: serve}\nhealthcheck: null\n";
    world.package("own", yaml, FLASK).write("own/config/a", "");
    let effective = world.resolve("./own").effective();
    assert_eq!((effective.user.as_str(), effective.workdir.as_str()), ("me", "/own"));
    assert_eq!((effective.ports, effective.healthcheck), (vec![80], None));
    assert_eq!(effective.startup_command.expect("a command").value, "serve");
}

#[test]
fn commands_come_from_the_stages_of_the_image_alone() {
    let cases = [
        ("FROM debian AS a\nCMD a\nFROM a\nENTRYPOINT [\"b\"]\n", Some("b")),
        ("FROM debian AS a\nENTRYPOINT [\"a\"]\nFROM a\nCMD [\"b\"]\n", Some("a b")),
        ("FROM debian AS a\nCMD a\nFROM debian\nCOPY --from=a /x /x\n", None),
        ("FROM debian\nCMD a\nCMD b && c\n", Some("b && c")),
        ("FROM debian\nSHELL [\"/bin/bash\", \"-c\"]\nCMD b\n", Some("/bin/bash -c b")),
        ("ARG P=serve\nFROM debian\nARG P\nENV Q=$P\nCMD [\"$Q\"]\n", Some("'$Q'")),
        ("FROM debian\nCMD a\nCMD []\n", None),
    ];
    let world = World::new();
    for (text, expected) in cases {
        world.write("c/Dockerfile", text);
        let command = world.resolve("./c").effective().startup_command;
        assert_eq!(command.map(|at| at.value).as_deref(), expected, "{text}");
    }
}

#[test]
fn every_fault_of_both_files_is_told_in_one_run() {
    let world = World::new();
    let yaml = "base: {image: debian}\nresources: {cpus: 1}\n";
    world.package("two", yaml, "FROM debian\nRUNN x\nCOPY a b\nEXPOSE many\n");
    assert_eq!(
        world.faults("./two"),
        [
            "E2004 unknown key `cpus` in `resources` @ ./two/template.yaml:4:13",
            "E2004 unknown instruction `RUNN` @ ./two/Dockerfile:2:1",
            "E2004 `many` is no port @ ./two/Dockerfile:4:8",
        ]
    );
    world.write("two/.dockerignore", "secret\n!secret/kept\n[a\n");
    world.write("two/Dockerfile", "FROM debian\n");
    let faults = world.faults("./two");
    assert!(faults[1].ends_with("@ ./two/.dockerignore:3:1"), "{faults:?}");
}

#[test]
fn sources_that_are_not_there_are_told_at_their_line() {
    let world = World::new();
    let text = "FROM debian AS unused\nCOPY nowhere /\nFROM debian\nCOPY here gone hidden/a kept/a /d/\n\
                COPY g*e $X /d/\nADD http://example.com/x /x\nCOPY --from=unused a b\n\
                RUN --mount=type=bind,source=gone2,target=/m true\n";
    world.write("s/Dockerfile", text).write("s/here", "").write("s/hidden/a", "").write("s/kept/a", "");
    world.write("s/.dockerignore", "hidden\nkept\n!kept/a\n");
    let expected = [
        "E2004 there is no `nowhere` in the package @ ./s/Dockerfile:2:6",
        "E2004 there is no `gone` in the package @ ./s/Dockerfile:4:11",
        "E2004 `hidden/a` is left out of the build by ./s/.dockerignore @ ./s/Dockerfile:4:16",
        "E2004 there is no `gone2` in the package @ ./s/Dockerfile:8:13",
    ];
    assert_eq!(world.faults("./s"), expected);
}

#[test]
fn variables_of_sources_are_filled_in_where_no_image_has_a_say() {
    let mut world = World::new();
    let text = "ARG TOP=gone\nARG GIVEN\nFROM debian AS a\nENV DIR=conf MIXED=$HOME/x\nARG TOP\nARG GIVEN=b\n\
                COPY $DIR/a ${TOP}/b $GIVEN $HOME/c $MIXED a/$NOBODY /d/\nENV MIXED=c\n\
                FROM a\nCOPY ${DIR}/e $MIXED /f/\nRUN --mount=type=bind,source=$DIR/g,target=/g true\n";
    world.write("s/Dockerfile", text).write("s/conf/a", "");
    assert_eq!(
        world.faults("./s"),
        [
            "E2004 there is no `gone/b` in the package @ ./s/Dockerfile:7:13",
            "E2004 there is no `b` in the package @ ./s/Dockerfile:7:22",
            "E2004 there is no `conf/e` in the package @ ./s/Dockerfile:10:6",
            "E2004 there is no `c` in the package @ ./s/Dockerfile:10:15",
            "E2004 there is no `conf/g` in the package @ ./s/Dockerfile:11:13",
        ]
    );
    let arguments = vec![("GIVEN".to_owned(), "conf".to_owned()), ("TOP".to_owned(), "conf/..".to_owned())];
    world.context.dockerfile = DockerfileOptions { arguments, ..DockerfileOptions::default() };
    world.write("s/b", "").write("s/c", "").write("s/conf/e", "").write("s/conf/g", "");
    world.resolve("./s");
}

#[test]
fn patterns_that_match_nothing_are_questionable() {
    let world = World::new();
    let text = "FROM debian\nARG EXT=md\nCOPY *.$EXT src/*.rs src/x*/ hid*/* /a/\n\
                COPY --parents ./src/**/*.rs src/./deep/*.py /b/\nCOPY $NOBODY* [ab] /c/\n";
    world.write("s/Dockerfile", text).write("s/src/deep/x.rs", "").write("s/hidden/a", "");
    world.write("s/.dockerignore", "hidden/*\n");
    let report = abx_source::validate("./s", &world.context).expect("sound");
    let warnings: Vec<String> = report.warnings.iter().map(|warning| shown(&**warning)).collect();
    assert_eq!(
        warnings,
        [
            "E2004 `*.md` matches nothing of the package that the build sees @ ./s/Dockerfile:3:6",
            "E2004 `src/*.rs` matches nothing of the package that the build sees @ ./s/Dockerfile:3:13",
            "E2004 `src/x*/` matches nothing of the package that the build sees @ ./s/Dockerfile:3:22",
            "E2004 `hid*/*` matches nothing of the package that the build sees @ ./s/Dockerfile:3:30",
            "E2004 `src/./deep/*.py` matches nothing of the package that the build sees @ ./s/Dockerfile:4:30",
            "E2004 `[ab]` matches nothing of the package that the build sees @ ./s/Dockerfile:5:15",
        ]
    );
}

#[test]
fn a_base_beside_a_dockerfile_must_say_the_same() {
    let world = World::new();
    world.package("same", "base: {from: python-base}\n", "FROM python-base\n");
    assert_eq!(names(&world.resolve("./same")), ["base", "python-base", "same"]);
    world.package("image", "base: {image: \"debian:12\"}\n", "FROM debian:12 AS a\nFROM a\n");
    world.resolve("./image");
    world.package("other", "base: {image: python-base}\n", "FROM x AS y\nFROM python-base\n");
    assert_eq!(
        world.faults("./other"),
        ["E2004 `base` is not what the Dockerfile begins with, the template `python-base` @ \
          ./other/template.yaml:3:15 ./other/Dockerfile:2:6"]
    );
}

#[test]
fn from_means_stages_then_templates_then_images() {
    let world = World::new();
    let image = |text: &str| {
        world.write("f/Dockerfile", text);
        match world.resolve("./f").base {
            BaseImage::Image { name, .. } => name,
            other => format!("{other:?}"),
        }
    };
    assert_eq!(image("FROM python\n"), "python");
    assert_eq!(image("FROM python-base:3.12\n"), "python-base:3.12");
    assert_eq!(image("FROM alpine AS python-base\nFROM python-base\n"), "alpine");
    assert_eq!(image("FROM scratch\n"), "Scratch");
    assert_eq!(image("FROM base\n"), "debian:bookworm-slim");
    assert_eq!(image("ARG V=12\nFROM debian:$V\n"), "debian:12");
    let mut context = world.context.clone();
    context.dockerfile.arguments = vec![("V".into(), "11".into())];
    let lineage = resolve("./f", &context).expect("a lineage");
    assert!(matches!(&lineage.base, BaseImage::Image { name, .. } if name == "debian:11"));
    // Of other templates they are no business.
    world.package("child", "", "FROM debian\n");
    world.write("kid/template.yaml", "version: \"1\"\nmetadata: {name: kid}\nbase: {from: ../f}\n");
    let lineage = resolve("./kid", &context).expect("a lineage");
    assert!(matches!(&lineage.base, BaseImage::Image { name, .. } if name == "debian:12"));
}

#[test]
fn other_stages_begin_with_templates_too() {
    let world = World::new();
    world.write(
        "m/Dockerfile",
        "FROM python-base AS tools\nFROM debian\nCOPY --from=tools /a /b\nCOPY --from=base /c /d\n",
    );
    let lineage = world.resolve("./m");
    assert_eq!(names(&lineage), ["m"]);
    let dockerfile = lineage.packages[0].dockerfile.as_ref().expect("a Dockerfile");
    let templates: Vec<(&str, Vec<&str>)> =
        dockerfile.templates.iter().map(|(name, lineage)| (name.as_str(), names(lineage))).collect();
    assert_eq!(templates, [("python-base", vec!["base", "python-base"]), ("base", vec!["base"])]);
    world.write(
        "n/Dockerfile",
        "FROM debian\nCOPY --from=registry.sandbox.alicloud.com/templates/nope /c /d\n",
    );
    assert_eq!(world.faults("./n"), ["E2001 there is no template called `nope` @ ./n/Dockerfile:2:13"]);
}

#[test]
fn templates_that_begin_with_each_other_are_a_circle() {
    let mut world = World::new();
    // A checkout of the official repository.
    world.context.official = world.dir.path().join("work/official").display().to_string();
    let prefix = "registry.sandbox.alicloud.com/templates";
    for (name, other) in [("browser-automation", "full-stack"), ("full-stack", "browser-automation")] {
        let yaml = format!("version: \"1\"\nmetadata: {{name: {name}}}\n");
        world.write(&format!("official/{name}/template.yaml"), &yaml);
        let text = format!("FROM debian\nCOPY --from={prefix}/{other} /a /b\n");
        world.write(&format!("official/{name}/Dockerfile"), &text);
    }
    let error = resolve("browser-automation", &world.context).expect_err("a circle");
    assert_eq!(error.code().as_str(), "E2007", "{error}");
    world.write("official/full-stack/Dockerfile", &format!("FROM {prefix}/browser-automation\n"));
    let error = resolve("browser-automation", &world.context).expect_err("a circle");
    assert_eq!(error.code().as_str(), "E2007", "{error}");
}

#[test]
fn a_stage_for_another_platform_is_refused_where_it_is_needed() {
    let world = World::new();
    let text = "FROM --platform=linux/s390x debian AS a\nFROM --platform=$BUILDPLATFORM debian\n";
    world.write("p/Dockerfile", text);
    world.resolve("./p");
    world.write("p/Dockerfile", &format!("{text}COPY --from=a /x /x\n"));
    let faults = world.faults("./p");
    assert!(faults[0].starts_with("E2011") && faults[0].ends_with("./p/Dockerfile:1:17"), "{faults:?}");
}

#[test]
fn the_digest_covers_what_can_be_copied() {
    let world = World::new();
    world.write("d/Dockerfile", "FROM debian\nCOPY src/*.py /app/\n").write("d/src/a.py", "1");
    world.write("d/.dockerignore", "src/ignored\n").write("d/src/ignored", "1").write("d/README.md", "1");
    let digest = || world.resolve("./d").packages[0].digest().expect("a digest");
    let before = digest();
    world.write("d/README.md", "2").write("d/src/ignored", "2");
    assert_eq!(digest(), before);
    for (path, text) in [
        ("d/src/a.py", "2"),
        ("d/.dockerignore", "src/ignored\n*.tmp\n"),
        ("d/Dockerfile", "FROM debian\nCOPY src/*.py /app/\nUSER me\n"),
    ] {
        let before = digest();
        world.write(path, text);
        assert_ne!(digest(), before, "{path}");
    }
}

#[test]
fn what_it_says_stays_with_its_image() {
    let world = World::new();
    world.write("k/Dockerfile", FLASK).write("k/config/a", "");
    let lineage = world.resolve("./k");
    let text = kept::to_text(&lineage.packages);
    let packages = kept::from_text(&text).expect("what was written");
    let effective = abx_spec::merge(packages.iter().map(|package| &package.spec));
    assert_eq!((effective.user.as_str(), effective.workdir.as_str()), ("www", "/srv/web"));
    let startup = effective.startup_command.expect("a command");
    assert_eq!(
        (startup.value.as_str(), startup.place.file.as_str()),
        ("python 'main app.py'", "Dockerfile of k")
    );
    assert_eq!(kept::to_text(&packages), text);
}

#[test]
fn a_template_of_others_has_its_template_yaml() {
    let mut world = World::new();
    world.context.official = world.dir.path().join("work/official").display().to_string();
    world.write("official/go-dev/Dockerfile", "FROM debian\n");
    let error = resolve("go-dev", &world.context).expect_err("no template.yaml");
    assert!(matches!(error, SourceError::DockerfileAlone { .. }), "{error}");
    assert_eq!(error.code().as_str(), "E2001");
    world.write("official/go-dev/template.yaml", "version: \"1\"\nmetadata: {name: go-dev}\n");
    assert_eq!(names(&world.resolve("go-dev")), ["go-dev"]);
}
