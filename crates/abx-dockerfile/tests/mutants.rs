//! Any text is parsed or refused; nothing panics, every place lies in the file, and work stays in proportion.

mod random;

use std::collections::BTreeMap;

use abx_dockerfile::{
    Diagnostic, Dockerfile, Globals, Graph, Ignore, Inputs, Invalid, Lexer, Platform, Scope, parse,
    parse_trigger,
};
use random::Random;

const SEEDS: &[&str] = &[
    "# syntax=docker/dockerfile:1\nARG v=1\nFROM --platform=$BUILDPLATFORM debian:${v:-2} AS build\nENV a=b c='d e' \\\n  # why\n  f=\"g $a\"\n\
     RUN --mount=type=cache,target=/c,id=$a --network=none <<-EOF\n\techo é\n\tEOF\nCOPY --from=0 --chown=1:2 [\"a b\", \"/c\"]\n",
    "# escape=`\nFROM scratch\nCOPY <<a <<\"b\" x /y/\n${z##*/}\na\nraw\nb\nHEALTHCHECK --interval=1m30s CMD [\"x\"]\nONBUILD ADD . /\nEXPOSE 80-90/udp\n",
    "FROM a AS x\nCOPY --from=y . .\nFROM x AS y\nRUN --mount=type=secret,id=s,env=T true\nSHELL [\"a\", \"-c\"]\nSTOPSIGNAL 9\nVOLUME a b\n\
     LABEL a.b=\"c\\\nd\"\nUSER u:g\nWORKDIR $p\nCMD []\nENTRYPOINT x\nMAINTAINER m\nADD --checksum=sha256:00 http://h/x /\n",
];
const PIECES: &[&str] = &[
    "\\",
    "\n",
    "\r\n",
    " ",
    "\t",
    "\"",
    "'",
    "`",
    "$",
    "${",
    "}",
    "<<",
    "<<-EOF",
    "EOF",
    "#",
    "# escape=`\n",
    "--",
    "--from=",
    "--mount=type=",
    "=",
    ",",
    "[",
    "]",
    "[\"",
    "\\u",
    "\\ud800",
    "é",
    "\u{0}",
    "\u{feff}",
    "\u{a0}",
    "\u{2028}",
    "😀",
    ":-",
    "//",
    "%%",
    "*",
    "FROM ",
    "ARG ",
    "ENV ",
    "RUN ",
    "COPY ",
    "ONBUILD ",
    "HEALTHCHECK ",
    "1e9",
    "99999999999999999999",
    "-",
    "/",
    "..",
    "!",
    "**",
];
const ROUNDS: usize = 20_000;

#[test]
fn nothing_panics() {
    let mut random = Random(7);
    for round in 0..ROUNDS {
        let mut text = SEEDS[round % SEEDS.len()].to_owned();
        for _ in 0..=random.below(5) {
            mutate(&mut text, &mut random);
        }
        check(&text);
    }
}

fn check(text: &str) {
    match parse(text, "f") {
        Ok(dockerfile) => {
            dockerfile.warnings.iter().for_each(|warning| place(warning, text));
            if let Err(invalid) = evaluate(&dockerfile) {
                invalid.diagnostics().for_each(|fault| place(fault, text));
            }
        }
        Err(invalid) => invalid.diagnostics().for_each(|fault| place(fault, text)),
    }
    if let Err(invalid) = Ignore::parse(text, "f") {
        invalid.diagnostics().for_each(|fault| place(fault, text));
    }
    let _ = parse_trigger(text, "f");
    let lexer = Lexer { escape: '\\', keep_quotes: false };
    let _ = lexer.words(text, &|name| (name.len() == 1).then_some("x y"));
}

/// Everything a build asks of a file.
fn evaluate(dockerfile: &Dockerfile) -> Result<(), Invalid> {
    let platform = Platform::parse("linux/amd64").expect("a platform");
    let inputs = Inputs { arguments: BTreeMap::new(), build: platform.clone(), target: platform };
    let globals = Globals::new(dockerfile, &inputs)?;
    let graph = Graph::new(dockerfile, &globals, None)?;
    assert_eq!(graph.waves().concat().len(), graph.order.len());
    for stage in &dockerfile.stages {
        let mut scope = Scope::new(&globals, [("PATH", "/bin")]);
        for instruction in &stage.instructions {
            scope.expand(instruction, &dockerfile.source)?;
        }
    }
    Ok(())
}

fn place(fault: &Diagnostic, text: &str) {
    let at = &fault.snippet;
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = body.split('\n').nth(at.line - 1).unwrap_or_default().trim_end_matches('\r');
    let width = line.chars().count();
    assert!(line.starts_with(&at.source), "{fault}: {:?} is not {line:?}", at.source);
    assert!(at.column >= 1 && at.column <= width + 1, "{fault}: column {} of {width}", at.column);
    assert!(at.length >= 1 && at.column + at.length <= width.max(at.column) + 1, "{fault}: {at:?}");
    assert!(!fault.to_string().contains('\n'), "{fault}");
}

fn mutate(text: &mut String, random: &mut Random) {
    let at = boundary(text, random.below(text.len() + 1));
    match random.below(4) {
        0 => text.insert_str(at, PIECES[random.below(PIECES.len())]),
        1 => {
            let end = boundary(text, (at + random.below(8)).min(text.len())).max(at);
            text.replace_range(at..end, "");
        }
        2 => {
            let end = boundary(text, (at + random.below(30)).min(text.len())).max(at);
            let copy = text[at..end].to_owned();
            let to = boundary(text, random.below(text.len() + 1));
            text.insert_str(to, &copy);
        }
        _ => text.truncate(at),
    }
}

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Bytes of a large file; far more would be as quick, were the tests optimised.
const SIZE: usize = 256 << 10;

/// Large texts, each a trap for work that grows faster than the text. A test that does not come to an
/// end tells.
#[test]
fn large_files_are_read_in_proportion() {
    let lines = |line: &str| format!("FROM a\n{}", line.repeat(SIZE / line.len()));
    let one = |start: &str, piece: &str| format!("FROM a\n{start}{}", piece.repeat(SIZE / piece.len()));
    let texts = [
        lines("RUN echo hello world && true # x\n"),
        lines("RUN a <<b\nc\nb\n"),
        lines("RUN a << b\n"),
        lines("NOPE\n"),
        lines("ENV a=$b c=\"${d:-e}\"\n"),
        lines("RUN a \\\n"),
        lines("\\\n"),
        lines("# c\n"),
        lines("FROM b AS c\n"),
        lines("COPY --from=0 a b\nFROM a\n"),
        lines("ONBUILD COPY --from=0 a b\nFROM a\n"),
        one("RUN ", "<<a "),
        one("RUN ", "("),
        one("CMD [", "\"a\","),
        one("CMD [", "["),
        one("CMD ", "[\"a\",1,"),
        one("ENV a=", "${a:-"),
        one("ENV a=", "'"),
        one("ENV ", "a=b "),
        one("ENV ", "a b "),
        one("LABEL a=${a/", "*b"),
        one("COPY ", "a "),
        one("COPY ", "--exclude=*a* "),
        one("RUN ", "--mount=target=/a "),
        one("RUN --mount=", "target=/a,"),
        one("EXPOSE ", "1-65535 "),
        one("HEALTHCHECK --interval=", "1h"),
        one("STOPSIGNAL ", "\u{a0}"),
    ];
    for text in texts {
        if let Ok(dockerfile) = parse(&text, "f") {
            let _ = evaluate(&dockerfile);
        }
    }
    let ignore = Ignore::parse(&"**/*a*b*c*".repeat(2_000), "f").expect("a pattern");
    assert!(!ignore.excludes(&"a".repeat(200)));
}
