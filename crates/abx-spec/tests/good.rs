//! Files that mean something, and what.

use abx_spec::{Base, Check, Clearable, Effective, Mode, Spec, merge, parse};

const FULL: &str = include_str!("files/full.yaml");
const SHORTHAND: &str = include_str!("files/shorthand.yaml");

#[track_caller]
fn spec(text: &str) -> Spec {
    match parse(text, "template.yaml") {
        Ok(parsed) => parsed.spec,
        Err(invalid) => {
            let faults: Vec<_> =
                invalid.diagnostics().map(|it| format!("{}: {it}", it.snippet.line)).collect();
            panic!("{faults:#?}")
        }
    }
}

fn minimal(rest: &str) -> Spec {
    spec(&format!("version: \"1\"\nmetadata: {{name: t}}\nbase: {{image: \"debian:bookworm-slim\"}}\n{rest}"))
}

#[test]
fn the_designs_full_form() {
    let spec = spec(FULL);
    assert_eq!(spec.metadata.name, "python-data-science");
    assert_eq!(spec.metadata.version, "1.2.0");
    assert_eq!(spec.metadata.tags, ["python", "data-science", "jupyter"]);
    let Some(Base::Image(image)) = &spec.base else { panic!("{:?}", spec.base) };
    assert_eq!((image.value.as_str(), image.place.line, image.place.column), ("ubuntu:22.04", 18, 10));
    let packages: Vec<_> = spec.build.pip_install.iter().map(|it| it.value.as_str()).collect();
    assert_eq!(packages, ["pandas>=2.0", "numpy", "matplotlib"]);
    assert_eq!(spec.build.copy[1].value.src.to_str(), Some("scripts/setup.sh"));
    assert_eq!(spec.build.copy[0].value.dest, "/app/config/");
    assert_eq!(spec.resources.memory, Some(4096));
    assert_eq!(spec.network.ports[0].value, 8888);
    assert_eq!(spec.sandbox.mode, Some(Mode::Ephemeral));
    let probe = &spec.sandbox.readiness_probe.as_ref().expect("probe").value;
    assert_eq!((&probe.check, probe.interval, probe.timeout), (&Check::Tcp(8888), 0.2, 30.0));
    assert_eq!(spec.capabilities.as_ref().expect("capabilities").value, ["shell", "files", "code", "ports"]);
    assert!(spec.agent.instructions.as_ref().expect("text").starts_with("When performing"));
    let check = spec.healthcheck.as_ref().expect("check");
    assert_eq!((check.retries, check.start_period), (3, 0.0));
    assert_eq!(spec.cleared, [Clearable::Gpu, Clearable::StartupCommand]);
}

#[test]
fn the_designs_shorthand_means_the_same_model() {
    let spec = spec(SHORTHAND);
    assert_eq!(spec.metadata.version, "1.0.0");
    assert!(matches!(&spec.base, Some(Base::Either(name)) if name.value == "python-base"));
    assert_eq!(spec.build.apt_install.len(), 2);
    assert_eq!(spec.build.env[0].0, "FLASK_ENV");
    assert_eq!(spec.build.copy[0].value.dest, "/app/config/");
    assert_eq!(spec.network.ports.iter().map(|it| it.value).collect::<Vec<_>>(), [5000, 6379]);
    assert_eq!(spec.sandbox.startup_command.expect("command").value, "python /app/main.py");
    assert_eq!(spec.resources.disk, Some(20480));
}

#[test]
fn the_base_of_the_shorthand() {
    let rows = [
        ("python-base", "either python-base"),
        ("node:20-slim", "either node:20-slim"),
        ("nvidia/cuda:12.1", "image nvidia/cuda:12.1"),
        ("docker://debian", "from docker://debian"),
        ("alicloud/sandbox-templates//base", "from alicloud/sandbox-templates//base"),
        ("o/r@v1", "from o/r@v1"),
        ("../parent", "from ../parent"),
    ];
    for (base, expected) in rows {
        let meant = match spec(&format!("name: t\nbase: {base}\n")).base {
            Some(Base::Image(at)) => format!("image {}", at.value),
            Some(Base::From(at)) => format!("from {}", at.value),
            Some(Base::Either(at)) => format!("either {}", at.value),
            None => "none".to_owned(),
        };
        assert_eq!(meant, expected);
    }
}

#[test]
fn environment_values_stay_as_written() {
    let spec = minimal(
        "build:\n  env: {A: 8080, B: 1.10, C: yes, D: true, E: \"\", F: 0x10, G: 'a b', PATH: \"/x:$PATH\", H: 010}\n",
    );
    let values: Vec<_> =
        spec.build.env.iter().map(|(name, value)| format!("{name}={}", value.value)).collect();
    assert_eq!(
        values,
        ["A=8080", "B=1.10", "C=yes", "D=true", "E=", "F=0x10", "G=a b", "PATH=/x:$PATH", "H=010"]
    );
}

#[test]
fn amounts() {
    let spec =
        minimal("resources: {cpu: 0.5, memory: \"4GiB\", disk: 512MB, timeout: 1, idle_timeout: 604800}\n");
    assert_eq!(spec.resources.cpu, Some(0.5));
    assert_eq!((spec.resources.memory, spec.resources.disk), (Some(4096), Some(512)));
}

#[test]
fn anchors_crlf_and_a_byte_order_mark_are_read() {
    let text = "\u{feff}version: \"1\"\r\nmetadata: {name: t}\r\nbase: {image: debian}\r\n\
                build:\r\n  apt_install: &tools [git, jq]\r\n  npm_install: *tools\r\n";
    let spec = spec(text);
    assert_eq!(spec.build.npm_install.len(), 2);
    assert_eq!(spec.build.npm_install[0].value, "git");
}

#[test]
fn absent_means_absent_and_defaults_are_told_from_statements() {
    let spec = minimal("resources:\ncapabilities:\nbuild:\n  run:\n");
    assert_eq!(spec.capabilities, None);
    let effective = merge([&spec]);
    assert_eq!((effective.cpu, effective.memory, effective.disk), (1.0, 2048, 10_240));
    assert_eq!((effective.timeout, effective.idle_timeout, effective.pids), (600, 300, 2048));
    assert_eq!((effective.workdir.as_str(), effective.user.as_str()), ("/app", "user"));
    assert_eq!(effective.capabilities, ["shell", "files", "code"]);
    assert_eq!(effective.metadata.version, "0.0.0");
    assert_eq!(effective.origin("sandbox.workdir"), None);
}

fn lineage() -> Effective {
    let root = spec(
        "version: \"1\"\nmetadata: {name: root, version: 2.0.0, author: a, tags: [x, y]}\nbase: {image: debian}\n\
         resources: {cpu: 2, gpu: A10}\nnetwork: {ports: [80, 81], public: true}\n\
         sandbox: {user: root, startup_command: serve, readiness_probe: {type: tcp, port: 80}}\n\
         capabilities: [shell]\nagent: {triggers: [t], instructions: old}\nhealthcheck: {command: check}\n",
    );
    let middle = spec("version: \"1\"\nmetadata: {name: middle}\nbase: {from: root}\nresources: {cpu: 3}\n");
    let leaf = spec(
        "version: \"1\"\nmetadata: {name: leaf, tags: [y, z]}\nbase: {from: middle}\n\
         resources: {gpu: null}\nnetwork: {ports: [81, 82]}\nsandbox: {startup_command: null, workdir: /work}\n\
         agent: {triggers: [u], instructions: new}\n",
    );
    merge([&root, &middle, &leaf])
}

#[test]
fn a_child_over_its_parents() {
    let effective = lineage();
    assert_eq!(effective.metadata.name, "leaf");
    assert_eq!(effective.metadata.version, "0.0.0");
    assert_eq!(effective.metadata.author.as_deref(), Some("a"));
    assert_eq!(effective.metadata.tags, ["x", "y", "z"]);
    assert_eq!(effective.cpu, 3.0);
    assert_eq!(effective.ports, [80, 81, 82]);
    assert!(effective.public);
    assert_eq!((effective.user.as_str(), effective.workdir.as_str()), ("root", "/work"));
    assert_eq!(effective.capabilities, ["shell"], "what a parent refused is not regained");
    assert_eq!(effective.capabilities_place.map(|place| place.line), Some(7));
    assert_eq!(effective.agent.triggers, ["t", "u"]);
    assert_eq!(effective.agent.instructions.as_deref(), Some("new"));
    assert!(effective.healthcheck.is_some());
    assert!(effective.readiness_probe.is_some());
}

#[test]
fn null_drops_what_a_parent_set() {
    let effective = lineage();
    assert_eq!(effective.gpu, None);
    assert_eq!(effective.startup_command, None);
    assert_eq!(effective.origin("sandbox.startup_command"), Some(2));
}

#[test]
fn origins_name_the_member_that_set_a_value() {
    let effective = lineage();
    assert_eq!(effective.origin("resources.cpu"), Some(1));
    assert_eq!(effective.origin("sandbox.user"), Some(0));
    assert_eq!(effective.origin("sandbox.workdir"), Some(2));
    assert_eq!(effective.origin("resources.memory"), None);
}

#[test]
fn egress_is_replaced_as_a_whole_or_dropped() {
    let member =
        |rest: &str| spec(&format!("version: \"1\"\nmetadata: {{name: t}}\nbase: {{from: x}}\n{rest}"));
    let root = spec(include_str!("files/egress.yaml"));
    let written = |lineage: &[&Spec]| {
        let egress = merge(lineage.iter().copied()).egress;
        egress.map(|egress| serde_json::to_string(&egress).expect("json"))
    };
    let (silent, child, null) = (
        member(""),
        member("network: {egress: {deny: [10.0.0.0/8]}}\n"),
        member("network: {egress: null}\n"),
    );
    assert_eq!(
        written(&[&root, &silent]).as_deref(),
        Some(
            r#"{"rules":["allow example.com","allow *.example.org:443","allow 10.0.0.0/8","allow [2001:db8::/32]:22","deny 10.1.0.0/16","deny evil.example.org"],"default":"deny"}"#
        )
    );
    assert_eq!(
        written(&[&root, &child]).as_deref(),
        Some(r#"{"rules":["deny 10.0.0.0/8"],"default":"allow"}"#)
    );
    assert_eq!(written(&[&root, &null]), None);
    assert_eq!(merge([&root, &null]).origin("network.egress"), Some(1));
}

#[test]
fn an_older_flat_file_means_the_same_and_each_older_key_is_told() {
    let text = "name: t\nbase: debian:12\nsystem_packages: [curl]\npython_packages: [rich]\nnode_packages: [yarn]\n\
                commands: [\"echo hi\"]\ncopy_files:\n  - {src: a, dest: /a}\n  - {source: b, target: /b}\n  - c:/c\n\
                cpu_count: 2\nmemory_mb: 4096\n";
    let parsed = parse(text, "template.yaml").expect("a sound file");
    let spec = &parsed.spec;
    let texts = |list: &[abx_spec::At<String>]| list.iter().map(|at| at.value.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&spec.build.apt_install), ["curl"]);
    assert_eq!(texts(&spec.build.pip_install), ["rich"]);
    assert_eq!(texts(&spec.build.npm_install), ["yarn"]);
    assert_eq!(texts(&spec.build.run), ["echo hi"]);
    let copies: Vec<_> =
        spec.build.copy.iter().map(|at| (at.value.src.to_str(), at.value.dest.as_str())).collect();
    assert_eq!(copies, [(Some("a"), "/a"), (Some("b"), "/b"), (Some("c"), "/c")]);
    assert_eq!((spec.resources.cpu, spec.resources.memory), (Some(2.0), Some(4096)));
    let warnings: Vec<_> = parsed.warnings.iter().map(|it| format!("{}: {it}", it.snippet.line)).collect();
    assert_eq!(
        warnings,
        [
            "3: `system_packages` is the older name of `packages.apt`",
            "4: `python_packages` is the older name of `packages.pip`",
            "5: `node_packages` is the older name of `packages.npm`",
            "6: `commands` is the older name of `build.run`",
            "7: `copy_files` is the older name of `files`",
            "11: `cpu_count` is the older name of `resources.cpu`",
            "12: `memory_mb` is the older name of `resources.memory`",
        ]
    );
}

#[test]
fn the_public_flat_files_have_no_fault_but_their_custom_commands() {
    let data = std::env::var("ABX_TEST_DATA").unwrap_or_else(|_| "../../../shared/data".to_owned());
    let Ok(files) = std::fs::read_dir(format!("{data}/templates-corpus/flat")) else {
        return skipped("no corpus of flat files; ABX_TEST_DATA names the folder");
    };
    for file in files {
        let path = file.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a file");
        let invalid = parse(&text, "template.yaml").expect_err("custom commands");
        let faults: Vec<_> = invalid.diagnostics().map(ToString::to_string).collect();
        assert_eq!(faults, ["`custom_commands` is not a key of templates"], "{}", path.display());
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}
