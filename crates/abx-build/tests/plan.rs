//! Keys change exactly when what a step depends on changes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use abx_build::tree::{Content, Entry, Node};
use abx_build::{Action, Member, Plan, Renewals, Tree, plan};
use abx_image::{Image, ImageConfig, ImageId, LayerId, Origin};
use abx_spec::{At, Place};

fn at<T>(value: T) -> At<T> {
    At { value, place: Place { file: "template.yaml".into(), line: 1, column: 1 } }
}

fn base() -> Image {
    Image {
        id: ImageId("0".repeat(64)),
        layers: vec![LayerId("b".repeat(64))],
        config: ImageConfig { env: vec![("PATH".into(), "/bin".into())], ..ImageConfig::default() },
        origin: Origin::Registry { name: "debian:bookworm-slim".into(), digest: "sha256:0".into() },
    }
}

fn file(content: &str) -> Tree {
    let content: Arc<[u8]> = content.as_bytes().into();
    let digest = String::from_utf8_lossy(&content).into_owned();
    let node = Node::File { executable: false, digest, content: Content::Memory(content) };
    Tree::new(vec![Entry { path: PathBuf::new(), node }])
}

/// A template with a step of each kind.
fn full() -> Member {
    let mut member = Member::default();
    member.spec.metadata.name = "root".into();
    let build = &mut member.spec.build;
    build.apt_install = vec![at("git".into()), at("curl".into())];
    build.pip_install = vec![at("rich".into())];
    build.npm_install = vec![at("yarn".into())];
    build.env = vec![("MODE".into(), at("1".into()))];
    build.copy = vec![at(abx_spec::Copy { src: "config".into(), dest: "/etc/x".into() })];
    build.run = vec![at("echo one".into()), at("echo two".into())];
    member.files = Tree::new(vec![Entry { path: "a".into(), node: file("a").entries()[0].node.clone() }]);
    member.copies = vec![file("config")];
    member.script = Some(at("true".into()));
    member
}

fn child() -> Member {
    let mut member = Member::default();
    member.spec.metadata.name = "child".into();
    member.spec.build.pip_install = vec![at("httpx".into())];
    member
}

fn planned(members: &[Member]) -> Plan {
    plan(members, &base(), &Renewals::default())
}

fn kinds(plan: &Plan) -> Vec<&'static str> {
    plan.steps.iter().map(|step| step.action.kind()).collect()
}

/// The kind of the first step whose key differs from the unchanged template's; `-` for none.
fn first_change(change: impl FnOnce(&mut Member)) -> &'static str {
    let before = planned(&[full()]);
    let mut member = full();
    change(&mut member);
    let after = planned(&[member]);
    let at = before.steps.iter().zip(&after.steps).position(|(before, after)| before.key != after.key);
    let Some(at) = at else { return "-" };
    let differ = |(before, after): (&abx_build::Step, &abx_build::Step)| before.key != after.key;
    assert!(before.steps.iter().zip(&after.steps).skip(at).all(differ), "everything above changes too");
    after.steps[at].action.kind()
}

#[test]
fn steps_come_in_their_fixed_order() {
    let expected = [
        "setup",
        "apt_install",
        "pip_install",
        "npm_install",
        "files",
        "copy",
        "run",
        "run",
        "scripts/setup.sh",
        "finish",
    ];
    assert_eq!(kinds(&planned(&[full()])), expected);
}

#[test]
fn files_come_first_where_a_requirement_names_one() {
    let mut member = full();
    member.spec.build.pip_install.push(at("-rrequirements.txt".into()));
    let kinds = kinds(&planned(&[member]));
    assert_eq!(kinds[..3], ["setup", "files", "apt_install"]);
}

#[test]
fn a_key_changes_with_what_its_step_depends_on() {
    type Change = fn(&mut Member);
    let rows: [(&str, Change, &str); 17] = [
        ("nothing", |_| {}, "-"),
        ("description", |it| it.spec.metadata.description = Some("x".into()), "-"),
        ("resources", |it| it.spec.resources.cpu = Some(2.0), "-"),
        ("ports", |it| it.spec.network.ports = vec![at(80)], "-"),
        ("startup command", |it| it.spec.sandbox.startup_command = Some(at("x".into())), "-"),
        ("place", |it| it.spec.build.run[0].place.line = 9, "-"),
        ("user", |it| it.spec.sandbox.user = Some("me".into()), "setup"),
        ("workdir", |it| it.spec.sandbox.workdir = Some("/srv".into()), "setup"),
        ("apt package", |it| it.spec.build.apt_install.push(at("jq".into())), "apt_install"),
        ("pip package", |it| it.spec.build.pip_install[0] = at("rich==1".into()), "pip_install"),
        ("npm package", |it| it.spec.build.npm_install[0] = at("pnpm".into()), "npm_install"),
        (
            "variable for pip",
            |it| it.spec.build.env.push(("PIP_NO_BINARY".into(), at("x".into()))),
            "apt_install",
        ),
        ("files/", |it| it.files = file("changed"), "files"),
        ("copied file", |it| it.copies = vec![file("changed")], "copy"),
        ("destination", |it| it.spec.build.copy[0].value.dest = "/y".into(), "copy"),
        ("variable", |it| it.spec.build.env[0].1.value = "2".into(), "run"),
        ("script", |it| it.script = Some(at("false".into())), "scripts/setup.sh"),
    ];
    for (what, change, expected) in rows {
        assert_eq!(first_change(change), expected, "{what}");
    }
}

#[test]
fn the_second_of_two_commands_leaves_the_first_alone() {
    let before = planned(&[full()]);
    let mut member = full();
    member.spec.build.run[1].value = "echo three".into();
    let after = planned(&[member]);
    assert_eq!(before.steps[6].key, after.steps[6].key);
    assert_ne!(before.steps[7].key, after.steps[7].key);
}

#[test]
fn a_parent_is_shared_by_all_its_children() {
    let parent = planned(&[full()]);
    let mut other = child();
    other.spec.metadata.name = "other".into();
    other.spec.build.run = vec![at("true".into())];
    for member in [child(), other] {
        let inheriting = planned(&[full(), member]);
        assert_eq!(inheriting.steps[..parent.steps.len()], parent.steps[..]);
        assert_eq!(inheriting.steps[parent.steps.len()].action.kind(), "pip_install", "no second setup");
    }
}

#[test]
fn another_user_or_workdir_is_set_up_again() {
    let mut member = child();
    member.spec.sandbox.workdir = Some("/srv".into());
    let plan = planned(&[full(), member]);
    assert_eq!(kinds(&plan)[10..], ["setup", "pip_install"]);
    let expected = Action::Setup { user: "user".into(), workdir: "/srv".into() };
    assert_eq!(plan.steps[10].action, expected);
}

#[test]
fn variables_expand_and_package_steps_see_only_what_steers_them() {
    let mut member = full();
    member.spec.build.env = vec![
        ("VENV".into(), at("/opt/venv".into())),
        ("PATH".into(), at("$VENV/bin:${PATH}".into())),
        ("PRICE".into(), at("5$$".into())),
        ("PIP_INDEX_URL".into(), at("https://pip.corp/".into())),
    ];
    let plan = planned(&[member]);
    let env = |kind: &str| -> BTreeMap<String, String> {
        let step = plan.steps.iter().find(|step| step.action.kind() == kind).expect("step");
        step.env.iter().cloned().collect()
    };
    let pip = env("pip_install");
    assert_eq!(pip.keys().collect::<Vec<_>>(), ["PATH", "PIP_INDEX_URL"]);
    assert_eq!(pip["PATH"], "/bin");
    let run = env("run");
    assert_eq!(run["PATH"], "/opt/venv/bin:/bin");
    assert_eq!(run["PRICE"], "5$");
    let path = plan.config.env.iter().find(|(name, _)| name == "PATH").expect("PATH");
    assert_eq!(path.1, "/opt/venv/bin:/bin:/home/user/.local/bin");
}

#[test]
fn the_configuration_says_who_where_and_what() {
    let mut member = full();
    member.spec.network.ports = vec![at(80)];
    member.spec.sandbox.startup_command = Some(at("serve".into()));
    let config = planned(&[member]).config;
    assert_eq!((config.user.as_str(), config.workdir.as_str()), ("user", "/app"));
    assert_eq!(config.exposed_ports, ["80/tcp"]);
    assert_eq!(config.cmd, ["/bin/sh", "-c", "serve"]);
    assert!(config.labels.contains(&("org.opencontainers.image.title".into(), "root".into())));
}

#[test]
fn an_image_that_is_run_directly_keeps_its_own_user_and_workdir() {
    let mut image = base();
    image.config.user = "1001:1001".into();
    image.config.workdir = "/work".into();
    let plan = plan(&[], &image, &Renewals::default());
    assert_eq!(plan.steps, []);
    assert_eq!(plan.config, image.config);
    assert_eq!((plan.effective.user.as_str(), plan.effective.workdir.as_str()), ("1001:1001", "/work"));
    let bare = abx_build::plan(&[], &base(), &Renewals::default());
    assert_eq!((bare.effective.user.as_str(), bare.effective.workdir.as_str()), ("root", "/"));
}

#[test]
fn a_renewal_changes_every_key_and_later_builds_follow_it() {
    let plain = planned(&[full()]);
    let salted = plan(&[full()], &base(), &Renewals { salt: Some("x".into()), ..Renewals::default() });
    assert!(plain.steps.iter().zip(&salted.steps).all(|(one, other)| one.key != other.key));
    let known = BTreeMap::from([(plain.steps[0].key.clone(), salted.steps[0].key.clone())]);
    let later = plan(&[full()], &base(), &Renewals { known, salt: None });
    assert_eq!(later.steps, salted.steps);
}

#[test]
fn a_health_check_script_counts_unless_the_same_or_a_later_template_has_the_key() {
    let script = |member: &mut Member| member.has_healthcheck = true;
    let key = |member: &mut Member| {
        member.spec.healthcheck = Some(abx_spec::Healthcheck {
            command: at("key".into()),
            interval: 1.0,
            timeout: 1.0,
            retries: 1,
            start_period: 0.0,
        });
    };
    let command =
        |members: &[Member]| planned(members).effective.healthcheck.map(|check| check.command.value);
    let path = |name: &str| Some(format!("/usr/local/share/abx/{name}/scripts/healthcheck.sh"));
    let (mut with_script, mut with_key, mut with_both) = (child(), child(), child());
    script(&mut with_script);
    key(&mut with_key);
    script(&mut with_both);
    key(&mut with_both);
    assert_eq!(command(&[with_script.clone()]), path("00-child"));
    assert_eq!(command(&[with_key.clone(), with_script.clone()]), path("01-child"));
    assert_eq!(command(&[with_script, with_key]), Some("key".into()));
    assert_eq!(command(&[with_both]), Some("key".into()));
}

#[test]
fn what_the_base_image_has_built_in_is_inherited_and_not_built_again() {
    let mut built = full();
    built.spec.sandbox.workdir = Some("/srv".into());
    built.spec.sandbox.startup_command = Some(at("serve".into()));
    built.spec.network.ports = vec![at(80)];
    let first = planned(std::slice::from_ref(&built));
    let image = Image { config: first.config.clone(), ..base() };
    built = Member { spec: built.spec, has_healthcheck: true, is_built: true, ..Member::default() };

    let again = plan(std::slice::from_ref(&built), &image, &Renewals::default());
    assert_eq!((again.steps.as_slice(), &again.config), ([].as_slice(), &first.config));
    let check = again.effective.healthcheck.expect("the script").command.value;
    assert_eq!(check, "/usr/local/share/abx/00-root/scripts/healthcheck.sh");

    let inheriting = plan(&[built, child()], &image, &Renewals::default());
    assert_eq!(kinds(&inheriting), ["pip_install"], "no setup, no login shells: nothing about them changes");
    assert_eq!((inheriting.steps[0].member, inheriting.steps[0].workdir.as_str()), (1, "/srv"));
    assert_eq!(inheriting.effective.startup_command.map(|it| it.value).as_deref(), Some("serve"));
    assert_eq!(inheriting.config.env, first.config.env, "the image has its variables");
}
