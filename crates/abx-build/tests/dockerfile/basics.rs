//! One stage: what is run, what is kept, what is reused.

use abx_core::{Code, Fault};

use crate::world::{World, outcomes};

pub(crate) const ALL: &[(&str, fn())] = &[
    ("one_stage_is_built_and_then_cached", one_stage_is_built_and_then_cached),
    ("a_failed_command_points_at_its_line", a_failed_command_points_at_its_line),
];

fn one_stage_is_built_and_then_cached() {
    let world = World::new();
    world.file("a.txt", "hello").file("sub/b.txt", "b");
    let text = "FROM tools\nARG WHO=me\nENV GREETING=\"hi $WHO\"\nWORKDIR /app/deep\nCOPY a.txt sub ./\n\
                RUN echo \"$GREETING $WHO $HOME $PWD\" > out && rm b.txt\nUSER 1000:1000\n\
                RUN id -u > /tmp/who; id -G >> /tmp/who\nEXPOSE 80\nCMD [\"cat\", \"out\"]\n";
    let built = world.build(text);
    let read = |path: &str| world.read(&built, path).unwrap_or_default();
    assert_eq!(read("app/deep/out"), "hi me me /root /app/deep\n");
    assert_eq!(read("app/deep/a.txt"), "hello");
    assert_eq!(world.find(&built, "app/deep/b.txt"), None);
    assert_eq!(read("tmp/who"), "1000\n1000\n");
    let config = &built.image.config;
    assert_eq!((config.user.as_str(), config.workdir.as_str()), ("1000:1000", "/app/deep"));
    assert_eq!(config.cmd, ["cat", "out"]);
    assert_eq!(built.own.expose, ["80/tcp"]);
    assert_eq!(built.own.env, [("GREETING".to_owned(), "hi me".to_owned())]);
    assert_eq!(built.image.layers.len(), 5, "{:?}", world.listing(&built));
    assert!(outcomes(&built).iter().all(|outcome| outcome.starts_with('+')));

    let again = world.build(text);
    assert!(outcomes(&again).iter().all(|outcome| outcome.starts_with('=')), "{:?}", outcomes(&again));
    assert_eq!(again.image, built.image);
    world.assert_clean();
}

fn a_failed_command_points_at_its_line() {
    let world = World::new();
    let error = world.try_build("FROM tools\n\nRUN echo one; \\\n  exit 3\n").expect_err("fails");
    assert_eq!(error.code(), Code::BuildStep);
    assert!(error.to_string().contains("ended with status 3"), "{error}");
    let snippet = &error.snippets()[0];
    assert_eq!((snippet.file.as_str(), snippet.line), ("Dockerfile", 3));
    assert_eq!(error.details(), ["$ echo one;   exit 3", "one"]);
    assert!(error.hints().iter().any(|hint| hint.contains(".log")));
    world.assert_clean();
}
