//! Arguments, environments and the graph of stages.

mod graph;

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
        ("COPY --chown=$a: b c", "3:14 `1 x:` is no owner"),
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
