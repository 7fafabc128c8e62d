//! Several stages: which are built, what passes between them, what is reused.

use abx_core::{Code, Fault};

use crate::world::{World, outcomes};

pub(crate) const ALL: &[(&str, fn())] = &[
    ("stages_pass_files_on_with_owner_mode_and_time", stages_pass_files_on_with_owner_mode_and_time),
    ("only_what_the_target_needs_is_built", only_what_the_target_needs_is_built),
    ("independent_stages_meet_each_other", independent_stages_meet_each_other),
    ("the_same_output_of_another_command_rebuilds_nothing_after", the_same_output_of_another_command),
    ("a_failed_stage_stops_the_others", a_failed_stage_stops_the_others),
    ("scratch_has_what_is_copied_and_no_more", scratch_has_what_is_copied_and_no_more),
    ("without_cache_all_is_made_anew_and_stays", without_cache_all_is_made_anew_and_stays),
    ("triggers_run_in_the_next_stage", triggers_run_in_the_next_stage),
    ("an_unknown_platform_is_refused", an_unknown_platform_is_refused),
];

fn stages_pass_files_on_with_owner_mode_and_time() {
    let world = World::new();
    let built = world.build(
        "FROM tools AS one\nRUN mkdir -p /out/d && echo x > /out/d/f && \
         chown 7:8 /out/d/f && chmod 4711 /out/d/f && touch -d @1000000 /out/d/f && ln -s f /out/d/l && ln /out/d/f /out/d/h\n\
         FROM tools\nCOPY --from=one /out /in\nCOPY --from=0 --chown=5 --chmod=600 /out/d/f /in/again\n\
         COPY --from=tools /etc/group /in/\n",
    );
    let lines = world.listing(&built);
    let expected = [
        "755 0:0 in/",
        "600 5:5 in/again = x",
        "755 0:0 in/d/",
        "4711 7:8 in/d/f = x",
        "4711 7:8 in/d/h = x",
        "777 0:0 in/d/l -> f",
        "644 0:0 in/group = root:x:0:",
    ];
    assert_eq!(lines, expected);
    use std::os::unix::fs::MetadataExt;
    let file = world.find(&built, "in/d/f").expect("file").metadata().expect("metadata");
    let other = world.find(&built, "in/d/h").expect("file").metadata().expect("metadata");
    assert_eq!((file.mtime(), file.ino()), (1_000_000, other.ino()));
}

fn only_what_the_target_needs_is_built() {
    let mut world = World::new();
    let text = "FROM tools AS base\nRUN echo base > /base\nFROM base AS unused\nRUN exit 1\n\
                FROM base AS mine\nRUN echo mine > /mine\nFROM nothing-of-this-name\nRUN exit 1\n";
    world.target = Some("mine".to_owned());
    let built = world.build(text);
    assert_eq!(outcomes(&built), ["+[base] RUN echo base > /base", "+[mine] RUN echo mine > /mine"]);
    assert_eq!(world.read(&built, "base").as_deref(), Some("base\n"));
}

/// Each waits for the other's file in a cache they share: one after the other they would never end.
fn independent_stages_meet_each_other() {
    let world = World::new();
    let wait = |own: &str, other: &str| {
        format!(
            "FROM tools AS {own}\nRUN --mount=type=cache,id=meet,target=/meet touch /meet/{own}; \
             for i in $(seq 200); do test -e /meet/{other} && break; sleep 0.1; done; test -e /meet/{other} && \
             echo {own} > /{own}\n"
        )
    };
    let text =
        format!("{}{}FROM scratch\nCOPY --from=a /a /\nCOPY --from=b /b /\n", wait("a", "b"), wait("b", "a"));
    if std::thread::available_parallelism().is_ok_and(|threads| threads.get() < 2) {
        return;
    }
    let built = world.build(&text);
    assert_eq!(world.listing_all(&built), ["644 0:0 a = a", "644 0:0 b = b"]);
}

fn the_same_output_of_another_command() {
    let world = World::new();
    let text = |command: &str| {
        format!(
            "FROM tools AS one\nRUN {command} > /out\nFROM tools\nCOPY --from=one /out /\nRUN cat /out > /o\n"
        )
    };
    world.build(&text("echo same"));
    let built = world.build(&text("printf 'same\\n'"));
    let signs: String = outcomes(&built).iter().map(|outcome| &outcome[..1]).collect();
    assert_eq!(signs, "+==", "{:?}", outcomes(&built));
}

fn a_failed_stage_stops_the_others() {
    let world = World::new();
    let text = "FROM tools AS slow\nRUN sleep 600\nFROM tools AS bad\nRUN exit 4\nFROM tools\n\
                COPY --from=slow / /\nCOPY --from=bad / /\n";
    let error = world.try_build(text).expect_err("fails");
    assert!(error.to_string().contains("`[bad] RUN exit 4` of mine ended with status 4"), "{error}");
    assert_eq!(error.snippets()[0].line, 4);
    world.assert_clean();
}

fn scratch_has_what_is_copied_and_no_more() {
    let world = World::new();
    world.file("a", "a");
    let built = world.build("FROM scratch\nCOPY a /x/\n");
    assert_eq!(world.listing_all(&built), ["755 0:0 x/", "644 0:0 x/a = a"]);
    assert_eq!(built.image.config.workdir, "/");
    assert!(built.image.config.env("PATH").is_some_and(|path| path.starts_with("/usr/local/sbin:")));
    let error = world.try_build("FROM scratch\nCOPY a /\nRUN echo\n").expect_err("no shell");
    assert_eq!(error.code(), Code::BuildStep);
    assert!(error.details().contains(&"/bin/sh: not found in the image".to_owned()), "{:?}", error.details());
    let error = world.try_build("FROM scratch\nRUN [\"/x\"]\n").expect_err("nothing");
    assert!(error.to_string().contains("127"), "{error}");
    world.assert_clean();
}

fn without_cache_all_is_made_anew_and_stays() {
    let mut world = World::new();
    let text = "FROM tools AS one\nRUN cat /proc/sys/kernel/random/uuid > /u\nFROM one\nRUN cat /u > /v\n";
    let first = world.build(text);
    world.no_cache = true;
    let renewed = world.build(text);
    assert!(outcomes(&renewed).iter().all(|outcome| outcome.starts_with('+')), "{:?}", outcomes(&renewed));
    assert_ne!(world.read(&first, "v"), world.read(&renewed, "v"));
    world.no_cache = false;
    let later = world.build(text);
    assert!(outcomes(&later).iter().all(|outcome| outcome.starts_with('=')), "{:?}", outcomes(&later));
    assert_eq!(later.image, renewed.image);
}

fn triggers_run_in_the_next_stage() {
    let world = World::new();
    world.file("a", "a");
    let built = world.build(
        "FROM tools AS base\nONBUILD COPY a /a\nONBUILD RUN cat /a > /b\nRUN test ! -e /a\n\
         FROM base\nRUN cat /b > /c\n",
    );
    assert_eq!(world.read(&built, "c").as_deref(), Some("a"));
    assert!(built.image.config.triggers.is_empty());
    let with = world.build("FROM tools\nONBUILD RUN true\n");
    assert_eq!(with.image.config.triggers, ["RUN true"]);
}

fn an_unknown_platform_is_refused() {
    let world = World::new();
    let error = world.try_build("FROM --platform=linux/s390x tools\n").expect_err("no such machine");
    assert!(error.to_string().contains("not for linux/s390x"), "{error}");
    assert_eq!(error.snippets()[0].line, 1);
    world.build("FROM --platform=$BUILDPLATFORM tools\n");
}
