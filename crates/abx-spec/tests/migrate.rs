//! Older files become the full form and mean the same there.

use abx_spec::{migrate, parse};

const OLDER: &str = r#"# a comment
name: t
version: "1.0"
description: 'says "hi"'
tags: [a, b]
base: debian:12
system_packages: [curl]
packages: {pip: ["flask==3.0"]}
commands: ["echo \"$HOME\" > /x"]
copy_files: [{src: ./a, dest: /a/}]
env: {PATH: "/opt/bin:$PATH", N: 1}
ports: [80]
capabilities: [shell, files]
memory_mb: 4096
entrypoint: python main.py
workdir: /srv
custom_commands:
  greet:
    cmd: "printf '%s' {who} {class}"
    description: Greets
    cwd: /
    timeout: 5
    args:
      - {name: who, default: world, description: whom}
      - {name: class, description: "its class"}
  say-hi: echo hi
"#;

#[test]
fn the_new_file_means_what_the_older_one_did() {
    let migrated = migrate(OLDER, "template.yaml").expect("sound").expect("older");
    let new = parse(&migrated.template, "template.yaml")
        .unwrap_or_else(|fault| panic!("{fault}\n{}", migrated.template));
    assert!(new.warnings.is_empty(), "{:?}", new.warnings);
    let without = OLDER.split("custom_commands").next().expect("the rest");
    let old = parse(without, "template.yaml").expect("sound");
    let means = |spec: &abx_spec::Spec| {
        let build = &spec.build;
        let texts =
            |list: &[abx_spec::At<String>]| list.iter().map(|at| at.value.clone()).collect::<Vec<_>>();
        let copies: Vec<_> = build.copy.iter().map(|at| at.value.clone()).collect();
        let env: Vec<_> = build.env.iter().map(|(name, at)| (name.clone(), at.value.clone())).collect();
        let steps = (texts(&build.apt_install), texts(&build.pip_install), texts(&build.run), copies, env);
        (
            abx_spec::merge([spec]).metadata,
            abx_spec::merge([spec]).ports,
            abx_spec::merge([spec]).memory,
            steps,
        )
    };
    assert_eq!(means(&new.spec), means(&old.spec));
    assert!(matches!(&new.spec.base, Some(abx_spec::Base::Image(at)) if at.value == "debian:12"));
    assert_eq!(migrated.names, ["greet", "say-hi"]);
    assert!(migrated.loses_comments);
}

#[test]
fn custom_commands_become_functions_that_run_the_same_line() {
    let commands =
        migrate(OLDER, "template.yaml").expect("sound").expect("older").commands.expect("commands");
    // What the server inside gives a template's commands, as far as these use it.
    let check = "
import sys, types
sandbox = types.SimpleNamespace(register=lambda function: function)
server = types.SimpleNamespace(command=lambda name: lambda function: function)
sys.modules['agent_sandbox'] = types.SimpleNamespace(sandbox=sandbox, server=server)
sys.modules['agent_sandbox.server'] = server
scope = {}
exec(compile(sys.stdin.read(), 'commands.py', 'exec'), scope)
assert scope['greet'](class_='a b; {who}')['stdout'] == 'worlda b; {who}', scope['greet'](class_='a b; {who}')
assert scope['greet'].__doc__.startswith('Greets'), scope['greet'].__doc__
assert scope['say_hi']() == {'stdout': 'hi\\n', 'stderr': '', 'exit_code': 0}
";
    let child = std::process::Command::new("python3")
        .args(["-c", check])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn();
    let Ok(mut child) = child else { return skipped("no python3 to run the functions with") };
    std::io::Write::write_all(&mut child.stdin.take().expect("stdin"), commands.as_bytes()).expect("write");
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{}\n{commands}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_bare_name_that_no_image_has_is_a_template_s() {
    for (base, written) in [("debian:12", "image: \"debian:12\""), ("My-base:1.2", "from: \"My-base:1.2\"")] {
        let migrated =
            migrate(&format!("name: t\nbase: {base}\n"), "template.yaml").expect("sound").expect("older");
        assert!(migrated.template.contains(written), "{}", migrated.template);
        parse(&migrated.template, "template.yaml").expect("the new file is sound");
    }
}

#[test]
fn the_full_form_stays_and_faults_are_told() {
    let full = "version: \"1\"\nmetadata: {name: t}\nbase: {image: debian}\n";
    assert_eq!(migrate(full, "template.yaml"), Ok(None));
    let faults = |text: &str| {
        let invalid = migrate(text, "template.yaml").expect_err("faults");
        invalid.diagnostics().map(|it| format!("{}: {it}", it.snippet.line)).collect::<Vec<_>>()
    };
    assert_eq!(
        faults("name: t\nbase: b\nsystem_package: [x]\ncustom_commands:\n  a: {cmd: x, argz: []}\n  b: {}\n"),
        [
            "3: unknown key `system_package`",
            "5: unknown key `argz` in `custom_commands`",
            "6: the key `cmd` is missing",
        ]
    );
}

#[test]
fn the_public_flat_files_are_rewritten() {
    let data = std::env::var("ABX_TEST_DATA").unwrap_or_else(|_| "../../../shared/data".to_owned());
    let Ok(files) = std::fs::read_dir(format!("{data}/templates-corpus/flat")) else {
        return skipped("no corpus of flat files; ABX_TEST_DATA names the folder");
    };
    for file in files {
        let path = file.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a file");
        let migrated = migrate(&text, "template.yaml").expect("sound").expect("older");
        parse(&migrated.template, "template.yaml")
            .unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        assert!(!migrated.names.is_empty(), "{}", path.display());
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}
