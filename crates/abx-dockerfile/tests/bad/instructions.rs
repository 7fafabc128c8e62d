//! Faults of one instruction.

use crate::check;

#[test]
fn arguments() {
    let rows: [(&str, &[&str]); 22] = [
        ("ENV PATH", &["2:5+4 ENV PATH has no value; write `PATH=value`"]),
        ("ENV", &["2:1+3 ENV needs at least one `name=value`"]),
        ("ENV =a", &["2:5+1 ENV with an empty name; write a name before the `=`"]),
        ("LABEL a", &["2:7+1 LABEL a has no value; write `a=value`"]),
        ("ARG", &["2:1+3 ARG needs at least one name"]),
        (
            "ARG 1a=2",
            &[
                "2:5+2 `1a` cannot be the name of a build argument; a name has letters, digits, `_`, `.` and `-`, and begins with a letter or `_`",
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
