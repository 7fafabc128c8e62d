//! What a Dockerfile says of how to run its image.

use abx_build::froms;
use abx_dockerfile::Platform;

use crate::world::World;

pub(crate) const ALL: &[(&str, fn())] = &[
    ("every_instruction_reaches_the_configuration", every_instruction_reaches_the_configuration),
    ("commands_and_entry_points_reset_each_other", commands_and_entry_points_reset_each_other),
    ("what_is_inherited_is_not_the_files_own", what_is_inherited_is_not_the_files_own),
    ("the_history_has_a_line_for_all", the_history_has_a_line_for_all),
    ("the_images_a_file_needs_are_known_before", the_images_a_file_needs_are_known_before),
];

fn every_instruction_reaches_the_configuration() {
    let world = World::new();
    let built = world.build(
        "FROM tools\nMAINTAINER me\nLABEL a=1 \"b c\"=\"2 3\"\nEXPOSE 80 53/udp 80/tcp\nVOLUME /data \"/more\"\n\
         STOPSIGNAL SIGINT\nHEALTHCHECK --interval=5s --retries=2 CMD true && true\nUSER app\nSHELL [\"/bin/bash\", \"-c\"]\n\
         CMD echo hi\nENTRYPOINT [\"/e\", \"x\"]\nENV A=1\nENV A=\"$A 2\" B=${A}3\n",
    );
    let config = &built.image.config;
    assert_eq!(config.author, "me");
    assert_eq!(
        config.labels,
        [("a".into(), "1".into()), ("b c".into(), "2 3".into())] as [(String, String); 2]
    );
    assert_eq!(config.exposed_ports, ["80/tcp", "53/udp"]);
    assert_eq!(config.volumes, ["/data", "/more"]);
    assert_eq!((config.stop_signal.as_str(), config.user.as_str()), ("SIGINT", "app"));
    let check = config.healthcheck.as_ref().expect("health check");
    assert_eq!(check.test, ["CMD-SHELL", "true && true"]);
    assert_eq!((check.interval, check.retries), (5_000_000_000, 2));
    assert_eq!(config.cmd, ["/bin/bash", "-c", "echo hi"]);
    assert_eq!(config.entrypoint, ["/e", "x"]);
    assert_eq!(config.env[0].0, "PATH", "it is added where the base has none");
    assert_eq!(
        config.env[1..],
        [("A".into(), "1 2".into()), ("B".into(), "13".into())] as [(String, String); 2]
    );
    assert_eq!(built.image.layers, world.base.layers, "nothing of it makes a layer");
    let none = world.build("FROM tools\nHEALTHCHECK NONE\n");
    assert_eq!(none.own.healthcheck.expect("said").test, ["NONE"]);
}

fn commands_and_entry_points_reset_each_other() {
    let world = World::new();
    let rows: [(&str, &[&str], &[&str]); 5] = [
        ("CMD [\"a\"]", &[], &["a"]),
        ("CMD [\"a\"]\nENTRYPOINT [\"e\"]", &["e"], &["a"]),
        ("CMD [\"a\"]\nFROM one\nENTRYPOINT [\"e\"]", &["e"], &[]),
        ("ENTRYPOINT [\"e\"]\nCMD [\"a\"]\nFROM one\nCMD [\"b\"]", &["e"], &["b"]),
        ("ENTRYPOINT [\"e\"]\nCMD [\"a\"]\nFROM one\nENTRYPOINT []\nCMD []", &[], &[]),
    ];
    for (lines, entrypoint, cmd) in rows {
        let config = world.build(&format!("FROM tools AS one\n{lines}\n")).image.config;
        assert_eq!((&*config.entrypoint, &*config.cmd), (&*owned(entrypoint), &*owned(cmd)), "{lines}");
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn what_is_inherited_is_not_the_files_own() {
    let mut world = World::new();
    let parent = world.build(
        "FROM tools\nCMD [\"parent\"]\nENTRYPOINT [\"e\"]\nEXPOSE 1\nUSER 5\nWORKDIR /p\nENV P=1\nLABEL p=1\n",
    );
    world.base = parent.image;
    let child = world.build("FROM image AS a\nENV OWN=$P\nEXPOSE 2\nFROM a\nWORKDIR q\n");
    let own = &child.own;
    assert_eq!((&own.cmd, &own.entrypoint, &own.user), (&None, &None, &None));
    assert_eq!((own.expose.as_slice(), own.workdir.as_deref()), (&["2/tcp".to_owned()][..], Some("/p/q")));
    assert_eq!(own.env, [("OWN".to_owned(), "1".to_owned())]);
    assert!(own.labels.is_empty());
    let config = &child.image.config;
    assert_eq!((config.cmd.as_slice(), config.user.as_str()), (&["parent".to_owned()][..], "5"));
    assert_eq!(config.exposed_ports, ["1/tcp", "2/tcp"]);
}

fn the_history_has_a_line_for_all() {
    let world = World::new();
    world.file("a", "a");
    let built = world.build(
        "ARG G=9\nFROM tools\nARG V=1\nARG G\nENV E=1\nONBUILD RUN x\nCOPY --chown=1 a /a\nRUN echo hi > /b\nUSER 5\nRUN true\nCMD [\"x\", \"y\"]\nEXPOSE 80 53/udp\nHEALTHCHECK --interval=90s --retries=2 CMD true\n",
    );
    let config = &built.image.config;
    let history: Vec<&str> = config.history.iter().skip(1).map(String::as_str).collect();
    assert_eq!(
        history,
        ["COPY --chown=1 a /a # buildkit", "RUN |2 V=1 G=9 /bin/sh -c echo hi > /b # buildkit"]
    );
    let notes: Vec<(usize, &str)> =
        config.notes.iter().map(|(count, line)| (*count, line.as_str())).collect();
    let expected = [
        (1, "ARG V=1"),
        (1, "ARG G"),
        (1, "ENV E=1"),
        (3, "USER 5"),
        (3, "RUN |2 V=1 G=9 /bin/sh -c true # buildkit"),
        (3, "CMD [\"x\" \"y\"]"),
        (3, "EXPOSE map[53/udp:{} 80/tcp:{}]"),
        (3, "HEALTHCHECK &{[\"CMD-SHELL\" \"true\"] \"1m30s\" \"0s\" \"0s\" \"0s\" '\\x02'}"),
    ];
    assert_eq!(notes, expected);
}

fn the_images_a_file_needs_are_known_before() {
    let text = "ARG TAG=1\nFROM --platform=linux/amd64 one:$TAG AS a\nFROM two AS unused\nFROM a AS b\n\
                COPY --from=three /x /x\nRUN --mount=from=four,target=/f true\nCOPY --from=a /y /y\n";
    let file = abx_dockerfile::parse(text, "Dockerfile").expect("parse");
    let platform = Platform::parse("amd64").expect("platform");
    let args = [("TAG".to_owned(), "2".to_owned())];
    let needed = froms(&file, &args, &platform, None).expect("froms");
    let rows: Vec<_> = needed
        .iter()
        .map(|image| (&*image.name, image.snippet.line, image.platform.as_deref(), image.is_base))
        .collect();
    let expected =
        [("four", 6, None, false), ("one:2", 2, Some("linux/amd64"), true), ("three", 5, None, false)];
    assert_eq!(rows, expected);
    assert!(froms(&file, &args, &platform, Some("nope")).is_err());
}
