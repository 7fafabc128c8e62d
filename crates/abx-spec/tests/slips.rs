//! What people write by mistake, and what they are told to write instead.

use abx_core::Fault;
use abx_spec::parse;

const HEAD: &str = "version: \"1\"\nmetadata: {name: t}\nbase: {image: debian}\n";

/// The hints to every fault of a file.
fn hints(text: &str) -> Vec<String> {
    let Err(invalid) = parse(text, "t.yaml") else { return Vec::new() };
    invalid.diagnostics().map(|fault| fault.hints().join("; ")).collect()
}

#[test]
fn values_of_the_wrong_kind() {
    let rows = [
        ("build: {copy: ./a /b}\n", "write `copy: [{src: \"./a\", dest: \"/b\"}]`"),
        ("build: {copy: [\"./a:/b\"]}\n", "write `{src: \"./a\", dest: \"/b\"}`"),
        (
            "build: {apt_install: {curl: latest}}\n",
            "write one entry a line, each with a dash and a space before it",
        ),
        ("resources: {cpu: \"2\"}\n", "write it without quotes: 2"),
        ("resources: {memory: \"4096\"}\n", "write it without quotes: 4096"),
        ("resources: {timeout: 5m}\n", "it is in seconds: 300"),
        ("healthcheck: {command: x, interval: 500ms}\n", "it is in seconds: 0.5"),
        ("sandbox: {readiness_probe: tcp}\n", "write `readiness_probe: {type: tcp, port: …}`"),
        ("sandbox: {readiness_probe: 80}\n", "write `readiness_probe: {type: tcp, port: 80}`"),
        ("agent: do this\n", "write `agent: {description: \"do this\"}`"),
        ("agent: [a]\n", "write its keys without dashes, one a line"),
        ("agent: {<<: {description: x}}\n", "use every key itself: YAML 1.2 has no merge keys"),
        ("build: {env: {<<: {A: b}}}\n", "use every variable itself: YAML 1.2 has no merge keys"),
    ];
    for (rest, expected) in rows {
        assert_eq!(hints(&format!("{HEAD}{rest}")), [expected], "{rest}");
    }
    let other_names = "build:\n  copy:\n    - {source: a, target: /b}\n";
    assert_eq!(hints(&format!("{HEAD}{other_names}")), ["write `src` instead", "write `dest` instead"]);
    let nul = [HEAD, "build: {run: [\"a\\0b\"], env: {A: \"\\0\"}}\n"].concat();
    let faults = parse(&nul, "t.yaml").expect_err("no program can be called so");
    assert_eq!(faults.diagnostics().count(), 2, "{faults}");
}

#[test]
fn a_section_is_missed_once() {
    let rows = [
        ("version: \"1\"\nmetadata: t\nbase: {image: debian}\n", "write `metadata: {name: \"t\"}`"),
        ("version: \"1\"\nmetadta: {name: t}\nbase: {image: debian}\n", "did you mean `metadata`?"),
        ("version: \"1\"\nmetadata: {name: t}\nbase: Debian:12\n", "write `base: {image: \"Debian:12\"}`"),
        (
            "version: \"1\"\nmetadata: {name: t}\nbase: {image: Debian}\n",
            "names of images are in lower case: `debian`",
        ),
        ("name: t\nbase: debian\npackages: [a]\n", "write `packages: {pip: […], apt: […], npm: […]}`"),
        ("name: t\nbase: debian\nentrypoint: [a, b]\n", "write the whole command as one string"),
    ];
    for (text, expected) in rows {
        assert_eq!(hints(text), [expected], "{text}");
    }
}

#[test]
fn what_is_no_yaml() {
    const COLUMN: &str =
        "it is indented further than the key before it: keys of one section stand in one column";
    let rows = [
        ("version:\"1\"\nmetadata:\n  name:t\n", "put a space behind the colon of every key"),
        ("metadata:\n  name: t\n   description: x\n", COLUMN),
        (
            "metadata:\n  name: t\n  description: My app: the best\n",
            "quote a text that holds `: ` or a comma, and close brackets that are open",
        ),
        ("metadata:\n  name: %t\n", "quote a text that begins with `%`"),
        ("metadata:\n  name: @t\n", "quote a text that begins with `@` or a backtick"),
        ("build:\n  pip_install:\n    - >=2.0\n", "quote a text that begins with `>` or `|`"),
        (
            "build: {run: [\"a\u{1}b\"]}\n",
            "take the control character out, or write it as an escape in quotes",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(hints(text), [expected], "{text}");
    }
}
