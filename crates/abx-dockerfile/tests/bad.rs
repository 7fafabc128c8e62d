//! What is refused, where, and with what advice: `line:column+length message; hint`, all faults of a file.

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
fn arguments() {
    let rows: [(&str, &[&str]); 22] = [
        ("ENV PATH", &["2:5+4 ENV PATH has no value; write `PATH=value`"]),
        ("ENV", &["2:1+3 ENV needs at least one `name=value`"]),
        (
            "ENV =a",
            &[
                "2:5+1 ENV with an empty name; a name has letters, digits and `_`, and does not begin with a digit",
            ],
        ),
        ("LABEL a", &["2:7+1 LABEL a has no value; write `a=value`"]),
        ("ARG", &["2:1+3 ARG needs at least one name"]),
        (
            "ARG 1a=2",
            &[
                "2:5+2 `1a` cannot be the name of a build argument; a name has letters, digits and `_`, and does not begin with a digit",
            ],
        ),
        ("RUN", &["2:1+3 RUN needs a command"]),
        ("RUN []", &["2:1+6 RUN needs a command"]),
        ("CMD", &["2:1+3 CMD needs a command"]),
        (
            "CMD [ \"echo\", [ \"nested\" ] ]",
            &["2:15+14 an array of arguments holds strings alone; quote each argument: `[\"sleep\", \"1\"]`"],
        ),
        (
            "CMD [\"sleep\", 1]",
            &["2:15+2 an array of arguments holds strings alone; quote each argument: `[\"sleep\", \"1\"]`"],
        ),
        (
            "RUN [\"a\"] && b",
            &["2:11+4 nothing may follow an array of arguments; for the shell's `[` write `test`"],
        ),
        ("CMD [\"a\\u0000\"]", &["2:6+9 the text holds a NUL character, which no argument or variable can"]),
        ("SHELL /bin/sh -c", &["2:1+16 SHELL needs an array such as `[\"/bin/bash\", \"-c\"]`"]),
        ("USER \"\"", &["2:6+2 USER with an empty user"]),
        ("WORKDIR", &["2:1+7 WORKDIR needs an argument"]),
        ("VOLUME []", &["2:1+9 VOLUME needs at least one path"]),
        ("VOLUME [\"a\", \"\"]", &["2:14+2 VOLUME with an empty path"]),
        ("EXPOSE", &["2:1+6 EXPOSE needs at least one port"]),
        (
            "EXPOSE 80 99999",
            &["2:11+5 `99999` is no port; a port is a number from 1 to 65535, or two with `-` between"],
        ),
        (
            "STOPSIGNAL SIGNOPE",
            &["2:12+7 `SIGNOPE` is no signal; write a name such as `SIGTERM`, or a number from 1 to 64"],
        ),
        ("STOPSIGNAL $X", &[]),
    ];
    for (instruction, expected) in rows {
        check(instruction, expected);
    }
}

#[test]
fn copies() {
    let rows: [(&str, &[&str]); 15] = [
        ("COPY a", &["2:1+6 COPY needs at least one source and a destination"]),
        ("ADD", &["2:1+3 ADD needs at least one source and a destination"]),
        ("COPY --form=b a /", &["2:6+8 unknown flag `--form` of COPY; did you mean `--from`?"]),
        ("COPY --from a /", &["2:6+6 the flag `--from` needs a value; write `--from=…`"]),
        (
            "COPY --from=$b a /",
            &[
                "2:13+2 --from cannot hold variables; begin a stage with `FROM` and the variable, and copy from that stage",
            ],
        ),
        ("COPY --link=yes a /", &["2:6+10 the flag `--link` is `true` or `false`, not `yes`"]),
        ("COPY --link --link a /", &["2:13+6 the flag `--link` is there twice"]),
        ("COPY --chown=: a /", &["2:14+1 `:` is no owner; write it as `user`, `user:group` or `1000:1000`"]),
        ("COPY --chmod=9 a /", &["2:14+1 `9` is no file mode; write it as `755` or `u=rwx,go=rx`"]),
        ("COPY --exclude=[ a /", &["2:16+1 the pattern `[` is malformed: a `[` is not closed"]),
        ("COPY a <<EOF\nEOF", &["2:8+5 a here-document cannot be the destination"]),
        (
            "COPY \"a /",
            &[
                "2:6+2 a \" is not closed; close it, or write a backslash before a quote that is meant literally",
            ],
        ),
        (
            "ADD --checksum=md5:0 a /",
            &["2:16+5 `md5:0` is no checksum; write `sha256:` and 64 hexadecimal digits"],
        ),
        (
            "ADD https://host/a/b.git#v1 /",
            &[
                "2:5+23 ADD of a git repository is not supported; add the archive of a release by its URL, or clone in a RUN step",
            ],
        ),
        (
            "ADD --keep-git-dir=true git@host:a/b.git /",
            &[
                "2:1+42 --keep-git-dir is not supported; add the archive of a release by its URL, or clone in a RUN step",
                "2:25+16 ADD of a git repository is not supported; add the archive of a release by its URL, or clone in a RUN step",
            ],
        ),
    ];
    for (instruction, expected) in rows {
        check(instruction, expected);
    }
}

#[test]
fn runs() {
    let rows: [(&str, &[&str]); 16] = [
        (
            "RUN --network=host a",
            &[
                "2:15+4 --network=host is not supported; a step never sees the host's network; `default` reaches the outside",
            ],
        ),
        ("RUN --network=non a", &["2:15+3 `non` is no network of a step; did you mean `none`?"]),
        (
            "RUN --security=insecure a",
            &["2:16+8 --security=insecure is not supported; every step runs isolated"],
        ),
        ("RUN --security=sandbox a", &[]),
        ("RUN --device=gpu a", &["2:14+3 --device is not supported"]),
        (
            "RUN --mount=type=ssh a",
            &[
                "2:13+8 a mount of type `ssh` is not supported; pass a key as a secret: `--mount=type=secret,id=key`",
            ],
        ),
        ("RUN --mount=type=cahe,target=/a b", &["2:13+19 unknown mount type `cahe`; did you mean `cache`?"]),
        (
            "RUN --mount=type=cache,tagret=/a b",
            &["2:13+20 unknown option `tagret` of a mount; did you mean `target`?"],
        ),
        ("RUN --mount=type=cache b", &["2:13+10 a mount of type `cache` needs `target`"]),
        ("RUN --mount=source=a b", &["2:13+8 a mount of type `bind` needs `target`"]),
        ("RUN --mount=type=secret b", &["2:13+11 a mount of type `secret` needs `id`"]),
        (
            "RUN --mount=type=tmpfs,target=/a,from=b c",
            &["2:13+27 a mount of type `tmpfs` has no option `from`"],
        ),
        ("RUN --mount=type=tmpfs,target=/a,size=x c", &["2:13+27 `x` is no size; write it as `64m` or `1g`"]),
        (
            "RUN --mount=type=cache,target=/a,sharing=x c",
            &["2:13+30 `x` is no way to share a cache; it is `shared`, `private` or `locked`"],
        ),
        ("RUN --mount=type=cache,target=/a,dst=/b c", &["2:13+27 the mount option `dst` is there twice"]),
        (
            "RUN --mount=target=/a,from=$b c",
            &[
                "2:13+17 the mount option `from` cannot hold variables; begin a stage with `FROM` and the variable, and mount from that stage",
            ],
        ),
    ];
    for (instruction, expected) in rows {
        check(instruction, expected);
    }
}

#[test]
fn health_checks_and_triggers() {
    let rows: [(&str, &[&str]); 9] = [
        ("HEALTHCHECK", &["2:1+11 HEALTHCHECK needs `CMD` and a command, or `NONE`"]),
        ("HEALTHCHECK CMD", &["2:1+15 HEALTHCHECK needs a command after `CMD`"]),
        ("HEALTHCHECK NONE a", &["2:1+18 HEALTHCHECK takes nothing after `NONE`"]),
        ("HEALTHCHECK CONNECT a", &["2:13+7 `CONNECT` is no kind of health check; it is `CMD` or `NONE`"]),
        (
            "HEALTHCHECK --interval=5 CMD a",
            &["2:24+1 `5` is no length of time; write it as `30s`, `1m30s` or `500ms`"],
        ),
        (
            "HEALTHCHECK --interval=1us CMD a",
            &["2:24+3 `1us` is no time for a health check; the shortest time is `1ms`"],
        ),
        (
            "HEALTHCHECK --retires=3 CMD a",
            &["2:13+11 unknown flag `--retires` of HEALTHCHECK; did you mean `--retries`?"],
        ),
        ("ONBUILD", &["2:1+7 ONBUILD needs an instruction"]),
        (
            "ONBUILD FROM a\nONBUILD ONBUILD RUN a\nONBUILD RUM a",
            &[
                "2:9+4 FROM cannot be a trigger",
                "3:9+7 ONBUILD cannot be a trigger",
                "4:9+3 unknown instruction `RUM`; did you mean `RUN`?",
            ],
        ),
    ];
    for (instruction, expected) in rows {
        check(instruction, expected);
    }
}

#[test]
fn words_that_cannot_be_expanded() {
    let rows: [(&str, &[&str]); 5] = [
        ("ENV a=${b", &["2:7+3 `${` is not closed; write `\\$` for a dollar that is meant literally"]),
        (
            "ENV a=${}",
            &["2:7+3 `${` is followed by no name; write `\\$` for a dollar that is meant literally"],
        ),
        (
            "LABEL a=${b:=c}",
            &[
                "2:9+7 `${b:=` is no expansion that is known here; the operators are `:-` `:+` `:?` `-` `+` `?` `#` `##` `%` `%%` `/` and `//`",
            ],
        ),
        (
            "WORKDIR 'a",
            &[
                "2:9+2 a ' is not closed; close it, or write a backslash before a quote that is meant literally",
            ],
        ),
        (
            "COPY <<-EOF /a\n$c\n\t\td=${b:-c\n\te\nEOF",
            &["4:3+8 `${` is not closed; write `\\$` for a dollar that is meant literally"],
        ),
    ];
    for (instruction, expected) in rows {
        check(instruction, expected);
    }
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
fn faults_are_counted_no_further_than_a_hundred() {
    let text = "NOPE\n".repeat(5000);
    assert_eq!(faults(&text).len(), 100);
}
