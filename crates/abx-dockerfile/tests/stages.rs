//! Arguments, environments and the graph of stages.

use std::collections::BTreeMap;

use abx_core::Fault;
use abx_dockerfile::{
    Action, Dockerfile, Globals, Graph, Inputs, Instruction, Invalid, Origin, Platform, Scope, parse,
};

/// A file, build arguments, and the label that stands last.
type Row = (&'static str, &'static [(&'static str, &'static str)], &'static str);

fn inputs(arguments: &[(&str, &str)]) -> Inputs {
    let arguments: BTreeMap<_, _> =
        arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let platform = |text| Platform::parse(text).unwrap();
    Inputs { arguments, build: platform("linux/amd64"), target: platform("linux/arm64") }
}

fn dockerfile(text: &str) -> Dockerfile {
    parse(text, "Dockerfile").unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

fn graph(text: &str, arguments: &[(&str, &str)], target: Option<&str>) -> Result<Graph, Invalid> {
    let dockerfile = dockerfile(text);
    Graph::new(&dockerfile, &Globals::new(&dockerfile, &inputs(arguments))?, target)
}

/// The faults as `line:column message; hint`.
fn faults<T: std::fmt::Debug>(result: Result<T, Invalid>) -> Vec<String> {
    let invalid = result.expect_err("a fault");
    let shown = invalid.diagnostics().map(|fault| {
        let hints = fault.hints().iter().map(|hint| format!("; {hint}")).collect::<String>();
        format!("{}:{} {fault}{hints}", fault.snippet.line, fault.snippet.column)
    });
    shown.collect()
}

/// Every instruction of the last stage, expanded; stages before it lend it their scope where it builds on them.
fn expanded(text: &str, arguments: &[(&str, &str)]) -> Result<(Vec<Instruction>, Scope), Invalid> {
    let dockerfile = dockerfile(text);
    let globals = Globals::new(&dockerfile, &inputs(arguments))?;
    let graph = Graph::new(&dockerfile, &globals, None)?;
    let mut scopes: Vec<Scope> = Vec::new();
    let mut instructions = Vec::new();
    for (stage, link) in dockerfile.stages.iter().zip(&graph.links) {
        let mut scope = match link.base {
            Origin::Stage(base) => scopes[base].clone(),
            _ => Scope::new(&globals, [("PATH", "/bin"), ("BASE", "base")]),
        };
        let each = stage.instructions.iter().map(|instruction| scope.expand(instruction, &dockerfile.source));
        instructions = each.collect::<Result<_, _>>()?;
        scopes.push(scope);
    }
    Ok((instructions, scopes.pop().expect("a stage")))
}

/// The value a label gets that stands last in the text.
#[track_caller]
fn check(text: &str, arguments: &[(&str, &str)], expected: &str) {
    let (instructions, _) = expanded(text, arguments).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    match instructions.last().map(|instruction| &instruction.action) {
        Some(Action::Label(labels)) => assert_eq!(labels[0].value.text, expected, "for {text}"),
        other => panic!("no label in {text}: {other:?}"),
    }
}

#[test]
fn arguments_and_environment() {
    let rows: [Row; 27] = [
        // An ARG before FROM is for FROM, until a stage asks for it.
        ("ARG a=1\nFROM x\nLABEL l=$a", &[], ""),
        ("ARG a=1\nFROM x\nARG a\nLABEL l=$a", &[], "1"),
        ("ARG a=1\nFROM x\nARG a=2\nLABEL l=$a", &[], "2"),
        ("ARG a=1\nFROM x\nARG a\nLABEL l=$a", &[("a", "3")], "3"),
        ("ARG a=1\nFROM x\nARG a=2\nLABEL l=$a", &[("a", "3")], "3"),
        ("FROM x\nLABEL l=$a", &[("a", "3")], ""),
        ("FROM x\nLABEL l=$a\nARG a\nLABEL l=$a", &[("a", "3")], "3"),
        ("ARG a=1\nARG b=${a}2\nFROM x\nARG b\nLABEL l=$b", &[], "12"),
        ("FROM x\nARG a=1 b=$a\nLABEL l=$b", &[], "1"),
        // A stage inherits from the stage it builds on.
        ("FROM x AS y\nARG a=1\nFROM y\nLABEL l=$a", &[], "1"),
        ("FROM x AS y\nARG a=1\nFROM x\nLABEL l=$a", &[], ""),
        ("FROM x AS y\nENV a=1\nFROM y\nLABEL l=$a", &[], "1"),
        // The later of ARG and ENV wins; an ARG without a value changes nothing.
        ("FROM x\nARG a=1\nENV a=2\nLABEL l=$a", &[("a", "3")], "2"),
        ("FROM x\nENV a=2\nARG a=1\nLABEL l=$a", &[], "1"),
        ("FROM x\nENV a=2\nARG a\nLABEL l=$a", &[], "2"),
        ("FROM x\nARG a\nENV a=${a:-d}\nLABEL l=$a", &[], "d"),
        // The base image's environment.
        ("FROM x\nENV PATH=/a:$PATH\nLABEL l=$PATH", &[], "/a:/bin"),
        ("FROM x\nARG BASE=b\nLABEL l=$BASE", &[], "b"),
        // All of an ENV sees what was before it.
        ("FROM x\nENV a=hello\nENV a=bye b=$a\nENV c=$a\nLABEL l=$b$c", &[], "hellobye"),
        ("FROM x\nENV a  b  \"c d\"  e\nLABEL l=$a", &[], "b  c d  e"),
        // In single quotes nothing is escaped, nor expanded.
        ("FROM x\nENV a='b\\' c='$d'\nLABEL l=$a$c", &[], "b\\$d"),
        // What docker makes of the rest.
        ("FROM x\nENV a=$$b c=$. d=$1x\nLABEL l=$a$c$d", &[], "b$.x"),
        ("FROM x\nENV 한국=1\nLABEL l=${한국}", &[], "1"),
        // What is always there.
        ("FROM x\nLABEL l=$TARGETARCH", &[], ""),
        ("FROM x\nARG TARGETARCH\nLABEL l=$TARGETARCH", &[], "arm64"),
        ("FROM x\nARG BUILDPLATFORM TARGETVARIANT\nLABEL l=$BUILDPLATFORM$TARGETVARIANT", &[], "linux/amd64"),
        ("FROM x\nARG TARGETARCH\nLABEL l=$TARGETARCH", &[("TARGETARCH", "z")], "z"),
    ];
    for (text, arguments, expected) in rows {
        check(text, arguments, expected);
    }
}

#[test]
fn words() {
    let rows = [
        ("\"$a b\"", "1 b"),
        ("'$a'", "$a"),
        ("\\$a", "$a"),
        ("${a}b", "1b"),
        ("${none-x}${a+y}${none+z}", "xy"),
        ("${p#*/}", "usr/lib/x.tar.gz"),
        ("${p##*/}", "x.tar.gz"),
        ("${p%.*}", "/usr/lib/x.tar"),
        ("${p%%.*}", "/usr/lib/x"),
        ("${p/lib/LIB}", "/usr/LIB/x.tar.gz"),
        ("${p//\\//:}", ":usr:lib:x.tar.gz"),
        ("${p//[a-z]}", "error"),
        ("${a:?gone}", "1"),
        ("${none:?gone}", "error"),
    ];
    for (word, expected) in rows {
        let text = format!("FROM x\nENV a=1 p=/usr/lib/x.tar.gz\nLABEL l={word}");
        match expected {
            "error" => {
                assert!(parse(&text, "Dockerfile").is_err() || expanded(&text, &[]).is_err(), "{word}")
            }
            expected => check(&text, &[], expected),
        }
    }
}

#[test]
fn every_word_is_expanded_that_docker_expands() {
    let text = "FROM x\nENV a=A p=8000-8001/udp u=1:2\nEXPOSE 80 $p\nUSER $u\nWORKDIR /$a\nVOLUME /$a /b\n\
                STOPSIGNAL ${none:-SIGINT}\nCOPY --chown=$u --chmod=${none} --exclude=*.$a $a 'b'$a /$a/\n\
                COPY <<EOF <<'RAW' /\n\"$a\" \\$a 'x'\nEOF\n$a\nRAW\nRUN --mount=type=cache,id=$a,target=/c/$a $a\nCMD $a\nONBUILD USER $a";
    let (instructions, _) = expanded(text, &[]).unwrap();
    let mut actions = instructions.into_iter().skip(1).map(|instruction| instruction.action);
    let mut next = || actions.next().expect("an instruction");
    let Action::Expose(ports) = next() else { panic!("EXPOSE") };
    assert_eq!(ports.iter().map(|port| &*port.text).collect::<Vec<_>>(), ["80/tcp", "8000/udp", "8001/udp"]);
    let Action::User(user) = next() else { panic!("USER") };
    assert_eq!(user.text, "1:2");
    let Action::Workdir(path) = next() else { panic!("WORKDIR") };
    assert_eq!(path.text, "/A");
    let Action::Volume(paths) = next() else { panic!("VOLUME") };
    assert_eq!(paths[0].text, "/A");
    let Action::Stopsignal(signal) = next() else { panic!("STOPSIGNAL") };
    assert_eq!(signal.text, "SIGINT");
    let Action::Copy(copy) = next() else { panic!("COPY") };
    let files = copy.files;
    assert_eq!(files.sources.iter().map(|word| &*word.text).collect::<Vec<_>>(), ["A", "bA"]);
    assert_eq!(
        (files.chown.unwrap().text.as_str(), files.chmod, files.exclude[0].text.as_str()),
        ("1:2", None, "*.A")
    );
    let Action::Copy(copy) = next() else { panic!("COPY") };
    let contents: Vec<_> = copy.files.inline.iter().map(|inline| &*inline.content.text).collect();
    assert_eq!(contents, ["\"A\" $a 'x'\n", "$a\n"]);
    let Action::Run(run) = next() else { panic!("RUN") };
    let mount = format!("{:?}", run.mounts[0].kind);
    assert!(mount.contains("\"A\"") && mount.contains("\"/c/A\""), "{mount}");
    assert!(format!("{:?}", run.script).contains("$a"), "a command is its shell's to expand");
    assert!(format!("{:?}", next()).contains("$a"));
    assert!(format!("{:?}", next()).contains("$a"));
}

#[test]
fn what_only_expansion_shows_is_refused_with_its_line() {
    let rows = [
        ("EXPOSE $a", "3:8 `x` is no port"),
        ("VOLUME $none", "3:8 VOLUME with an empty path"),
        ("STOPSIGNAL $a", "3:12 `1 x` is no signal"),
        ("ENV $none=1", "3:5 ENV with an empty name"),
        ("COPY --chown=:$a b c", "3:14 `:1 x` is no owner"),
        ("COPY --exclude=[$none b c", "3:16 the pattern `[` is malformed"),
        ("ADD --checksum=$a b c", "3:16 `1 x` is no checksum"),
        ("ADD $g /", "3:5 ADD of a git repository is not supported"),
        ("RUN --mount=type=cache,target=$none true", "3:13 RUN with an empty target of a mount"),
        ("COPY <<EOF /\n\n ${none:?gone}\nEOF", "5:2 `none` must be set: gone"),
    ];
    for (instruction, expected) in rows {
        let text = format!("FROM x\nENV a='1 x' g=git@h:a\n{instruction}");
        let found = faults(expanded(&text, &[]));
        assert!(found[0].starts_with(expected), "{instruction}: {found:?}");
    }
}

#[test]
fn doubling_variables_end_somewhere() {
    let text = format!("FROM x\nENV a=0123456789\n{}", "ENV a=$a$a\n".repeat(60));
    assert!(faults(expanded(&text, &[]))[0].contains("longer than 1048576 bytes"));
    let text =
        format!("FROM x\nENV a=0123456789\n{}{}", "ENV a=$a$a\n".repeat(16), "LABEL b=$a\n".repeat(200));
    assert!(faults(expanded(&text, &[]))[0].contains("of a stage come to more than"));
}

#[test]
fn environments_of_image_and_command() {
    let (_, scope) =
        expanded("FROM x\nENV a=1\nARG b=2 a=3 c\nENV BASE=4", &[("c", "5"), ("http_proxy", "p")]).unwrap();
    let pairs = |pairs: &mut dyn Iterator<Item = (&str, &str)>| {
        pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
    };
    assert_eq!(pairs(&mut scope.image_environment()), ["PATH=/bin", "BASE=4", "a=1"]);
    assert_eq!(pairs(&mut scope.environment()), ["PATH=/bin", "BASE=4", "a=3", "b=2", "c=5"]);
    assert_eq!(pairs(&mut scope.arguments()), ["a=3", "b=2", "c=5"]);
    assert_eq!(
        inputs(&[("http_proxy", "p"), ("a", "b")]).proxies().collect::<Vec<_>>(),
        [("http_proxy", "p")]
    );
}

#[test]
fn build_arguments_nobody_asks_for() {
    let dockerfile = dockerfile("ARG a\nFROM x\nARG b=1");
    let given = inputs(&[
        ("a", ""),
        ("b", ""),
        ("c", ""),
        ("HTTP_PROXY", ""),
        ("TARGETARCH", "x"),
        ("BUILDKIT_INLINE_CACHE", "1"),
    ]);
    assert_eq!(given.unused(&dockerfile), ["c"]);
}

#[test]
fn bases_and_platforms() {
    let text = "ARG v=1\nARG none\nFROM --platform=$BUILDPLATFORM x:${v}${none} AS Build\nFROM build AS scratchy\nFROM scratch\n\
                FROM later\nFROM y AS later";
    let graph = graph(text, &[], None).unwrap();
    let bases: Vec<_> = graph.links.iter().map(|link| link.base.clone()).collect();
    let image = |name: &str| Origin::Image(name.to_owned());
    assert_eq!(bases, [image("x:1"), Origin::Stage(0), Origin::Scratch, image("later"), image("y")]);
    assert_eq!(graph.links[0].platform.as_deref(), Some("linux/amd64"));
    assert_eq!(
        faults(self::graph("ARG a\nFROM $a", &[], None)),
        [
            "2:6 FROM is blank: `$a` expands to nothing; give the ARG before FROM a default, or pass `--build-arg`",
        ]
    );
}

const DIAMOND: &str = "FROM x AS base\nFROM base AS left\nFROM base AS right\nFROM y AS lone\nFROM scratch AS all\n\
                       COPY --from=left a /\nCOPY --from=2 b /\nRUN --mount=from=tool,target=/t c\nFROM z AS unused\n\
                       COPY --from=img:1 a /\nCOPY --from=img:1 b /";

#[test]
fn a_target_needs_what_it_reaches() {
    let graph = |target| graph(DIAMOND, &[], target).unwrap();
    let all = graph(Some("all"));
    assert_eq!(all.order, [0, 1, 2, 4]);
    assert_eq!(all.waves(), [vec![0], vec![1, 2], vec![4]]);
    assert_eq!(all.links[4].after, [1, 2]);
    assert_eq!(all.links[4].images, ["tool"]);
    assert_eq!(all.images().into_iter().collect::<Vec<_>>(), ["tool", "x"]);
    assert_eq!(graph(Some("LEFT")).order, [0, 1]);
    assert_eq!(graph(Some("3")).order, [3]);
    let last = graph(None);
    assert_eq!(
        (last.target, last.order.as_slice(), last.links[5].images.as_slice()),
        (5, &[5][..], &["img:1".to_owned()][..])
    );
    assert_eq!(last.origin("Right"), Origin::Stage(2));
    assert_eq!(last.origin("other"), Origin::Image("other".into()));
}

#[test]
fn later_stages_may_be_copied_from_but_not_in_a_circle() {
    let forward = graph("FROM x AS a\nCOPY --from=b f /\nFROM y AS b", &[], Some("a")).unwrap();
    assert_eq!(forward.order, [1, 0]);
    let circle = "FROM x AS a\nCOPY --from=c f /\nFROM a\nFROM y AS c\nCOPY --from=1 f /";
    assert_eq!(faults(graph(circle, &[], None)), ["1:1 stage `a` needs itself: `a` → `c` → 1 → `a`"]);
    assert_eq!(faults(graph("FROM x\nCOPY --from=0 f /", &[], None)), ["1:1 stage 0 needs itself: 0 → 0"]);
}

#[test]
fn triggers_bind_the_stage_that_runs_them() {
    let text = "FROM t AS tools\nFROM x AS parent\nONBUILD COPY --from=tools a /\nFROM parent";
    let graph = graph(text, &[], None).unwrap();
    assert_eq!(graph.links[1].after, [0; 0]);
    assert_eq!(graph.links[2].after, [0, 1]);
    assert_eq!(graph.order, [0, 1, 2]);
}

#[test]
fn stages_that_are_not_there() {
    assert_eq!(
        faults(graph(DIAMOND, &[], Some("rihgt"))),
        ["1:1 there is no stage `rihgt`; did you mean `right`?"]
    );
    assert_eq!(
        faults(graph("FROM x AS a\nFROM y AS b", &[], Some("7"))),
        ["1:1 there is no stage `7`; the stages are `a`, `b`"]
    );
    assert_eq!(
        faults(graph("FROM x\nCOPY --from=1 a b\nRUN --mount=from=9,target=/a b", &[], None)),
        [
            "2:13 there is no stage 1; stages are counted from 0; this file has 1",
            "3:13 there is no stage 9; stages are counted from 0; this file has 1",
        ]
    );
}
