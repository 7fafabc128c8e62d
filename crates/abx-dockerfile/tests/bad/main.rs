//! What is refused, where, and with what advice: `line:column+length message; hint`, all faults of a file.

mod instructions;

use abx_core::{Code, Fault};
use abx_dockerfile::{Diagnostic, parse};

fn shown(fault: &Diagnostic) -> String {
    let at = &fault.snippet;
    assert_eq!(at.file, "Dockerfile");
    let hints = fault.hints().iter().map(|hint| format!("; {hint}")).collect::<String>();
    format!("{}:{}+{} {fault}{hints}", at.line, at.column, at.length)
}

fn faults(text: &str) -> Vec<String> {
    match parse(text, "Dockerfile") {
        Ok(_) => Vec::new(),
        Err(invalid) => {
            assert_eq!(invalid.code(), Code::SpecInvalid);
            invalid.diagnostics().map(shown).collect()
        }
    }
}

/// The faults of an instruction in the second line of a file.
#[track_caller]
fn check(instruction: &str, expected: &[&str]) {
    assert_eq!(faults(&format!("FROM a\n{instruction}\n")), expected, "for `{instruction}`");
}

#[test]
fn files() {
    let rows: [(&str, &[&str]); 12] = [
        ("", &["1:1+1 the file has no instructions; begin with `FROM` and the image to build on"]),
        ("# a\n\n", &["1:1+1 the file has no instructions; begin with `FROM` and the image to build on"]),
        ("ARG a\n", &["1:1+5 no stage: there is no FROM; begin with `FROM` and the image to build on"]),
        ("RUN a\nFROM b", &["1:1+5 RUN before the first FROM; only ARG may stand before FROM"]),
        ("# escape=x\nFROM a", &["1:10+1 the escape character is `\\` or a backtick, not `x`"]),
        (
            "# escape=`\n# escape=`\nFROM a",
            &["2:10+1 the directive `escape` is there twice; keep one of the two"],
        ),
        (
            "#syntax=ghcr.io/x/y:1\nFROM a",
            &[
                "1:9+13 the front end `ghcr.io/x/y:1` is not supported: this file is not for docker/dockerfile",
            ],
        ),
        ("FROM a\n\nRUN b\0", &["3:6+1 the text holds a NUL character, which no argument or variable can"]),
        (
            "FROM a\nRUN cat <<EOF > b\nx\n EOF\n",
            &["2:9+5 the here-document `EOF` has no end; end it with a line that is `EOF` alone"],
        ),
        (
            "FROM a AS 1\nRUN x\nFROM b as scratch",
            &[
                "1:11+1 `1` cannot be the name of a stage; a name begins with a letter and has letters, digits, `_`, `-` and `.`; `scratch` is taken",
                "3:11+7 `scratch` cannot be the name of a stage; a name begins with a letter and has letters, digits, `_`, `-` and `.`; `scratch` is taken",
            ],
        ),
        (
            "FROM a AS\nFROM a b c\nFROM\n",
            &[
                "1:1+9 FROM takes an image, and `AS name` where the stage is to have a name",
                "2:1+10 FROM takes an image, and `AS name` where the stage is to have a name",
                "3:1+4 FROM takes an image, and `AS name` where the stage is to have a name",
            ],
        ),
        (
            "FROM a\nRNU b <<EOF\nnot an instruction\nEOF\nCOYP a b\nUSR c\n",
            &[
                "2:1+3 unknown instruction `RNU`; did you mean `RUN`?",
                "5:1+4 unknown instruction `COYP`; did you mean `COPY`?",
                "6:1+3 unknown instruction `USR`; did you mean `USER`?",
            ],
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(faults(text), expected, "for {text:?}");
    }
}

#[test]
fn a_forgotten_continuation_is_explained() {
    check(
        "RUN apt-get update &&\n  apt-get install -y git",
        &[
            "3:3+7 unknown instruction `apt-get`; an instruction goes on in the next line where its line ends in `\\`",
        ],
    );
}

#[test]
fn places_in_continued_lines_are_those_of_the_file() {
    check(
        "RUN --network=none \\\n  # comment\n  --ntework=x \\\n  true",
        &["4:3+11 unknown flag `--ntework` of RUN; did you mean `--network`?"],
    );
    check(
        "ENV a=1 \\\n    b \\\n    c=2",
        &["3:5+1 `b` of ENV has no `=`; write `name=value`, and quote a value that holds spaces"],
    );
}

#[test]
fn what_is_questionable_is_a_warning() {
    let text = "FROM a AS x\nRUN b \\\n\n  c\n\n\nCMD ['a', 'b']\nEXPOSE 8080:80\nFROM x AS x\n";
    let dockerfile = parse(text, "Dockerfile").unwrap();
    let warnings: Vec<_> = dockerfile.warnings.iter().map(shown).collect();
    assert_eq!(
        warnings,
        [
            "3:1+1 a blank line within a continued instruction; remove the blank line, or the `\\` before it",
            "7:5+10 this looks like an array, but is none, so the shell gets it as it stands; an array has double quotes and commas: `[\"a\", \"b\"]`",
            "8:8+7 `8080:80` names a port of the host, which an image cannot; name the port inside alone; which port of the host leads to it is said at create",
            "9:11+1 the stage name `x` is taken: the stage of line 1 is not reached by it any more",
        ]
    );
}

#[test]
fn an_image_called_almost_as_a_stage_is_questionable() {
    let text = "FROM a AS builder\nFROM b\nCOPY --from=biulder x /\nCOPY --from=BUILDER x /\nCOPY --from=nginx x /\n\
                RUN --mount=from=biulder:1,target=/y z\n";
    let warnings: Vec<_> = parse(text, "Dockerfile").unwrap().warnings.iter().map(shown).collect();
    assert_eq!(
        warnings,
        [
            "3:13+7 `biulder` is no stage of this file, so it means an image; did you mean the stage `builder`?"
        ]
    );
}

#[test]
fn faults_are_counted_no_further_than_a_hundred() {
    let text = "NOPE\n".repeat(5000);
    assert_eq!(faults(&text).len(), 100);
}
