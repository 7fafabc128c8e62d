//! Which stages a target needs.

use abx_dockerfile::{Globals, Graph, Invalid, Origin};

use crate::{dockerfile, faults, inputs};

fn graph(text: &str, arguments: &[(&str, &str)], target: Option<&str>) -> Result<Graph, Invalid> {
    let dockerfile = dockerfile(text);
    Graph::new(&dockerfile, &Globals::new(&dockerfile, &inputs(arguments))?, target)
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
