//! Files that are refused: where, why, and what the reader is told to do.

use abx_core::Fault;
use abx_spec::parse;

/// Every fault as `line:column+length message | hint`.
fn faults(text: &str) -> Vec<String> {
    let Err(invalid) = parse(text, "t.yaml") else { return Vec::new() };
    assert_eq!(invalid.code().as_str(), "E2004");
    assert_eq!(invalid.others().len() + 1, invalid.diagnostics().count());
    invalid
        .diagnostics()
        .map(|fault| {
            let at = &fault.snippet;
            let hints = fault.hints().join("; ");
            let hints = if hints.is_empty() { hints } else { format!(" | {hints}") };
            format!("{}:{}+{} {fault}{hints}", at.line, at.column, at.length)
        })
        .collect()
}

const HEAD: &str = "version: \"1\"\nmetadata: {name: t}\nbase: {image: debian}\n";

/// Checks what `rest` adds to a sound file; lines count from the first of `rest`.
#[track_caller]
fn check(rest: &str, expected: &[&str]) {
    let found: Vec<String> = faults(&format!("{HEAD}{rest}"))
        .into_iter()
        .map(|fault| {
            let (line, tail) = fault.split_once(':').expect("line");
            format!("{}:{tail}", line.parse::<usize>().expect("number") - 3)
        })
        .collect();
    assert_eq!(found, expected, "for {rest:?}");
}

#[track_caller]
fn check_whole(text: &str, expected: &[&str]) {
    assert_eq!(faults(text), expected, "for {text:?}");
}

#[test]
fn keys() {
    check("buidl:\n  run: [x]\n", &["1:1+5 unknown key `buidl` | did you mean `build`?"]);
    check("build: {apt: [x]}\n", &["1:9+3 unknown key `apt` in `build` | did you mean `apt_install`?"]);
    check("memory: 1\n", &["1:1+6 unknown key `memory` | `memory` belongs to `resources`"]);
    check(
        "sandbox:\n  ports: [1]\n",
        &["2:3+5 unknown key `ports` in `sandbox` | `ports` belongs to `network`"],
    );
    check("zzz: 1\n", &["1:1+3 unknown key `zzz`"]);
    check(
        "sandbox: {entrypoint: x}\n",
        &["1:11+10 unknown key `entrypoint` in `sandbox` | write `sandbox.startup_command` instead"],
    );
    check(
        "network: {public: true}\nnetwork: {ports: [1]}\n",
        &["2:1+7 the key `network` is there twice, first in line 4 | keep one of the two"],
    );
    check("? [a]\n: b\n", &["1:3+3 a key must be a plain word | quote the text if it is meant literally"]);
    check(
        "custom_commands: {}\n",
        &[
            "1:1+15 `custom_commands` is not a key of templates | register named commands in the template's `commands.py` \
         with `@sandbox.register`, and call them with `abx run ID NAME --arg K=V` or `sandbox.run(\"name\", …)`",
        ],
    );
}

#[test]
fn heads() {
    check_whole(
        "version: \"1\"\n",
        &["1:1+1 the key `metadata.name` is missing | name the template: `metadata: {name: my-template}`"],
    );
    check_whole(
        "metadata: {name: t}\nbase: {image: a}\n",
        &["1:1+1 the key `version` is missing | begin the file with `version: \"1\"`"],
    );
    let version = |text: &str| format!("version: {text}\nmetadata: {{name: t}}\nbase: {{image: a}}\n");
    check_whole(
        &version("1"),
        &["1:10+1 specification version `1` is not known here | quote it: version: \"1\""],
    );
    check_whole(
        &version("\"2\""),
        &[
            "1:10+3 specification version `2` is not known here | this abx reads version \"1\"; a template's own version \
         goes to `metadata.version`",
        ],
    );
    let metadata = |text: &str| format!("version: \"1\"\nmetadata:\n  {text}\nbase: {{image: a}}\n");
    check_whole(
        &metadata("name: t\n  version: 1.10"),
        &[
            "4:12+4 the version `1.10` must be quoted: without quotes YAML reads it as a number | quote it: \"1.10\"",
        ],
    );
    check_whole(
        &metadata("name: t\n  version: \"1.10\""),
        &[
            "4:12+6 `1.10` is no semantic version: unexpected end of input while parsing minor version number | did you \
         mean \"1.10.0\"?",
        ],
    );
    check_whole(
        &metadata("name: t\n  version: abc"),
        &[
            "4:12+3 `abc` is no semantic version: unexpected character 'a' while parsing major version number | a version \
         is MAJOR.MINOR.PATCH, like \"1.2.0\"",
        ],
    );
    check_whole(
        &metadata("name: my template"),
        &[
            "3:9+11 `my template` cannot name a template: ` ` cannot stand in a template name | a name has letters, \
         digits, `.`, `_` and `-`, and begins with a letter or digit",
        ],
    );
    check_whole(
        &metadata("name: 5"),
        &["3:9+1 `metadata.name` must be a string, and `5` without quotes is a number | quote it: \"5\""],
    );
    check_whole(
        &metadata("name: t\n  category: webb"),
        &["4:13+4 unknown category `webb` | did you mean `web`?"],
    );
    check_whole(
        &metadata("name: t\n  tags: python"),
        &["4:9+6 `metadata.tags` must be a list, not a string | write `tags: [\"python\"]`"],
    );
}

#[test]
fn bases() {
    let base = |text: &str| format!("version: \"1\"\nmetadata: {{name: t}}\nbase: {text}\n");
    check_whole(
        &base("{image: a, from: base}"),
        &[
            "3:18+4 `base.image` and `base.from` exclude each other | keep `image` to start from a container image, \
         `from` to inherit from a template",
        ],
    );
    check_whole(
        &base("python-base"),
        &[
            "3:7+11 `base` must be a map of keys, not a string | write `base: {from: \"python-base\"}` for a template, `base: {image: \"python-base\"}` for an image",
        ],
    );
    check_whole(&base("{}"), &["3:7+2 the key `base.image` is missing | add `image`"]);
    check_whole(
        &base("{image: Debian}"),
        &[
            "3:15+6 the image name `Debian` is malformed: `D` cannot stand in an image name | names of images are in lower case: `debian`",
        ],
    );
    check_whole(
        &base("{from: o/}"),
        &[
            "3:14+2 malformed reference `o/`: the repository name is missing | a reference is a name (`python-base`, \
         `python-base:1.0.0`), a directory (`./mine`), `owner/repo//sub@ref`, or an image \
         (`docker://debian:bookworm-slim`)",
        ],
    );
}

#[test]
fn builds() {
    check(
        "build:\n  apt_install: curl\n",
        &["2:16+4 `build.apt_install` must be a list, not a string | write `apt_install: [\"curl\"]`"],
    );
    check(
        "build:\n  apt_install: [-y, 'a b', \"git=1:2.39*\"]\n",
        &[
            "2:17+2 `-y` is no package | options of the tool cannot stand here; write the whole command to `build.run`",
            "2:21+5 `a b` is no package | write one Debian package an entry, like `libpq-dev` or `git=1:2.39*`",
        ],
    );
    check(
        "build: {pip_install: [1.5, -r x.txt, 'foo >= 1 ; python_version < \"3.12\"']}\n",
        &[
            "1:23+3 `build.pip_install` must be a string, and `1.5` without quotes is a number | quote it: \"1.5\"",
            "1:28+8 `-r x.txt` is no package | options of the tool cannot stand here; write the whole command to \
         `build.run`",
        ],
    );
    check(
        "build:\n  run:\n    - echo a: b\n    - \"\"\n",
        &[
            "3:7+1 `build.run` must be a string, not a map | quote the whole text: YAML takes `echo a: ` for a key",
            "4:7+2 `build.run` must not be empty",
        ],
    );
    check(
        "build:\n  env: [A=1]\n",
        &[
            "2:8+5 `env` must be a map of names to values, not a list | write one `NAME: value` a line, without dashes",
        ],
    );
    check(
        "build: {env: {1A: x, B: null, C: [x], \"D=E\": x}}\n",
        &[
            "1:15+2 `1A` cannot be the name of an environment variable | names have letters, digits and `_`, and do not \
         begin with a digit",
            "1:22+1 the environment variable `B` has no value | write `B: \"\"` for an empty one, or remove the line",
            "1:34+3 `env.C` must be a string, not a list",
            "1:39+5 `D=E` cannot be the name of an environment variable | names have letters, digits and `_`, and do not \
         begin with a digit",
        ],
    );
    check(
        "build:\n  copy:\n    - {src: ../a, dest: /b}\n    - {src: /etc/passwd, dest: /b}\n    - {src: a/../../b, dest: c}\n    \
         - {src: a}\n    - {src: a, dest: ../x}\n    - {src: a, dest: ~/x}\n    - a\n",
        &[
            "3:13+4 `src` must stay inside the package: `../a` | copy the file into the package and name it relative \
             to template.yaml",
            "4:13+11 `src` must stay inside the package: `/etc/passwd` | copy the file into the package and name it \
             relative to template.yaml",
            "5:13+9 `src` must stay inside the package: `a/../../b` | copy the file into the package and name it \
             relative to template.yaml",
            "6:7+8 the key `dest` is missing | add `dest`",
            "7:22+4 `dest` must not contain `..`: `../x`",
            "8:22+3 `dest` cannot begin with `~`: `~/x` | the home directory is not known while building; write the \
             path out",
            "9:7+1 `copy` must be a map of keys, not a string | write `{src: \"a\", dest: …}`",
        ],
    );
}

#[test]
fn slips_of_shape_are_told_the_right_one() {
    check(
        "healthcheck: curl x\nsandbox: {readiness_probe: 8080, startup_command: [a]}\nbuild:\n  run:\n    -x\n",
        &[
            "1:14+6 `healthcheck` must be a map of keys, not a string | write `healthcheck: {command: \"curl x\"}`",
            "2:28+4 `sandbox.readiness_probe` must be a map of keys, not a number | write `readiness_probe: {type: \
             tcp, port: 8080}`",
            "2:51+3 `sandbox.startup_command` must be a string, not a list | write the whole command as one string",
            "5:5+2 `build.run` must be a list, not a string | put a space behind the dash",
        ],
    );
    check(
        "build:\n\trun: [x]\n",
        &[
            "2:2+1 this is no YAML: tabs disallowed within this context (block indentation) | indent with spaces",
        ],
    );
}

#[test]
fn amounts() {
    check(
        "resources: {cpu: 0, memory: 1, disk: 2PB, timeout: 0, idle_timeout: 1.5}\n",
        &[
            "1:18+1 `resources.cpu` is 0, outside of 0.1 to 64",
            "1:29+1 `resources.memory` is 1, outside of 64 to 262144",
            "1:38+3 `resources.disk` must be a whole number of MB, or a string with a unit like \"4GiB\": `2PB`",
            "1:52+1 `resources.timeout` is 0, outside of 1 to 604800",
            "1:69+3 `resources.idle_timeout` must be a whole number: `1.5`",
        ],
    );
    check(
        "resources: {cpu: two, memory: -5, disk: .inf, timeout: 99999999999999999999, gpu: 1}\n",
        &[
            "1:18+3 `resources.cpu` must be a number: `two`",
            "1:31+2 `resources.memory` is -5, outside of 64 to 262144",
            "1:41+4 `resources.disk` must be a whole number of MB, or a string with a unit like \"4GiB\": `.inf`",
            "1:56+20 `resources.timeout` must be a whole number: `99999999999999999999`",
            "1:83+1 `resources.gpu` must be a string, and `1` without quotes is a number | quote it: \"1\"",
        ],
    );
    check(
        "network: {ports: [0, 65536, \"80:80\", 80], public: no}\n",
        &[
            "1:19+1 `network.ports` is 0, outside of 1 to 65535",
            "1:22+5 `network.ports` is 65536, outside of 1 to 65535",
            "1:29+7 `network.ports` must be a whole number: `80:80` | name the port inside alone: 80; \
             `abx create --port HOST:GUEST` ties it to one of the host",
            "1:51+2 `network.public` must be `true` or `false`; in YAML 1.2 `no` is a string | write `false`",
        ],
    );
}

#[test]
fn behaviour() {
    check(
        "sandbox: {mode: persistant, workdir: app, user: My User, shell: /bin/../sh}\n",
        &[
            "1:17+10 `sandbox.mode` is `persistant`, which is none of `ephemeral`, `persistent` | did you mean \
         `persistent`?",
            "1:38+3 `sandbox.workdir` must be an absolute path: `app`",
            "1:49+7 `My User` is no user name | a user name has lower-case letters, digits, `_` and `-`, at most 32",
            "1:65+10 `sandbox.shell` must not contain `..`: `/bin/../sh`",
        ],
    );
    check(
        "sandbox:\n  readiness_probe:\n    type: tcp\n    command: x\n",
        &["3:5+1 a probe of type `tcp` needs `port`", "4:5+7 a probe of type `tcp` has no use for `command`"],
    );
    check(
        "sandbox: {readiness_probe: {type: http, timeout: 0}}\n",
        &[
            "1:35+4 `sandbox.readiness_probe.type` is `http`, which is none of `tcp`, `exec`",
            "1:50+1 `sandbox.readiness_probe.timeout` is 0, outside of 0.01 to 604800",
        ],
    );
    check(
        "capabilities: [shell, filez, x-, x-mine]\n",
        &[
            "1:23+5 unknown capability `filez` | did you mean `files`? (words of your own begin with `x-`)",
            "1:30+2 unknown capability `x-` | the words are `shell`, `files`, `code`, `terminal`, `ports` (words of \
             your own begin with `x-`)",
        ],
    );
    check(
        "healthcheck: {interval: 1, retries: 0}\n",
        &[
            "1:14+25 the key `healthcheck.command` is missing | add `command`",
            "1:37+1 `healthcheck.retries` is 0, outside of 1 to 1000",
        ],
    );
}

#[test]
fn egress() {
    check(
        "network:\n  egress:\n    allow: [\"https://example.com/x\", 10.1.2.3/8, a.com]\n    deny: [a.com:0]\n",
        &[
            "3:13+23 `network.egress.allow`: `https://example.com/x` is no host name | write the host alone, without `https://` and without a path",
            "3:38+10 `network.egress.allow`: `10.1.2.3/8` has bits behind its prefix | did you mean `10.0.0.0/8`?",
            "4:12+7 `network.egress.deny`: `0` is no port | ports are 1 to 65535; an IPv6 address with a port stands in brackets: `[2001:db8::1]:443`",
        ],
    );
    check(
        "network: {egress: {default: block}}\n",
        &["1:29+5 `network.egress.default` is `block`, which is none of `allow`, `deny`"],
    );
    check(
        "network: {egress: {alow: []}}\n",
        &["1:20+4 unknown key `alow` in `network.egress` | did you mean `allow`?"],
    );
    check("network: {egress: deny}\n", &["1:19+4 `network.egress` must be a map of keys, not a string"]);
    check(
        "network: {egress: {allow: a.com}}\n",
        &["1:27+5 `network.egress.allow` must be a list, not a string | write `allow: [\"a.com\"]`"],
    );
    let many: Vec<String> = (0..257).map(|number| format!("n{number}.com")).collect();
    check(
        &format!("network:\n  egress:\n    deny: [{}]\n", many.join(", ")),
        &[
            "3:5+1 `network.egress` has 257 targets, more than 256 | name networks (`10.0.0.0/8`) and what is below a name (`*.example.com`)",
        ],
    );
}

#[test]
fn the_shorthand() {
    check_whole(
        "name: t\nversion: 1.0\nbase: base\n",
        &[
            "2:10+3 the version `1.0` must be quoted: without quotes YAML reads it as a number | quote it: \"1.0\"",
        ],
    );
    check_whole(
        "name: t\nbase: base\nmemory: 1\ncustom_commands: {}\n",
        &[
            "3:1+6 unknown key `memory` | `memory` belongs to `resources`",
            "4:1+15 `custom_commands` is not a key of templates | register named commands in the template's \
             `commands.py` with `@sandbox.register`, and call them with `abx run ID NAME --arg K=V` or \
             `sandbox.run(\"name\", …)`; `abx template migrate` rewrites the file and makes each of them a function there",
        ],
    );
    check_whole("name: t\nbase: [x]\n", &["2:7+3 `base` must be a string, not a list"]);
}

#[test]
fn a_file_between_the_two_forms_is_told_the_full_one() {
    check_whole(
        "name: t\nbase: {image: x}\n",
        &[
            "1:1+4 unknown key `name` | `name` belongs to `metadata`",
            "1:1+1 the key `version` is missing | begin the file with `version: \"1\"`",
            "1:1+1 the key `metadata.name` is missing | name the template: `metadata: {name: my-template}`",
        ],
    );
}

#[test]
fn the_file_itself() {
    let least = "the least a template says is `version: \"1\"`, `metadata: {name: …}` and `base: {image: …}`";
    check_whole("", &[&format!("1:1+1 the file is empty | {least}")]);
    check_whole("# nothing\n", &[&format!("1:1+1 the file is empty | {least}")]);
    check_whole("- a\n", &[&format!("1:1+1 a template is a map of keys, not a list | {least}")]);
    check_whole("null\n", &[&format!("1:1+4 the file is empty | {least}")]);
    check_whole(
        "a: b\n c: d\n",
        &[
            "2:3+1 this is no YAML: mapping values are not allowed in this context | it is indented further than the key before it: keys of one section stand in one column",
        ],
    );
    check_whole(
        "a: !Ref b\nname: t\n",
        &[
            "1:1+1 unknown key `a`",
            "1:9+1 the tag `!Ref` means nothing here | quote the text if it is meant literally",
        ],
    );
    check_whole(
        &format!("{HEAD}---\na: b\n"),
        &["4:1+3 the file holds more than one document | remove everything from the second `---` on"],
    );
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
                c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
                e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
    let found = faults(bomb);
    assert!(found[0].contains("more than 20000 values"), "{found:?}");
    let deep = faults(&format!("a: {}{}\n", "[".repeat(40), "]".repeat(40)));
    assert!(deep[0].contains("nested more than 32 deep"), "{deep:?}");
    let very_deep = faults(&"[".repeat(100_000));
    assert_eq!(very_deep.len(), 1);
    assert!(faults("a: &a [*a]\n")[0].contains("inside the value it repeats"));
}

#[test]
fn files_of_something_else() {
    let rows = [
        (
            "AWSTemplateFormatVersion: x\nTransform: AWS::Serverless-2016-10-31\nResources: {A: !Ref b}\n",
            "an AWS SAM template",
        ),
        ("AWSTemplateFormatVersion: x\nResources: {}\n", "an AWS CloudFormation template"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n---\napiVersion: v1\n", "a Kubernetes manifest"),
        ("apiVersion: template.openshift.io/v1\nkind: Template\nobjects: []\n", "an OpenShift template"),
        ("apiVersion: scaffolder.backstage.io/v1beta3\nkind: Template\n", "a Backstage software template"),
        ("services: {web: {image: nginx}}\n", "a Docker Compose file"),
        ("ROSTemplateFormatVersion: '2015-09-01'\n", "an Alibaba Cloud ROS template"),
    ];
    for (text, what) in rows {
        let found = faults(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(&format!("it looks like {what}")), "{found:?}");
    }
}

#[test]
fn every_fault_of_a_file_is_reported_in_the_order_of_its_lines() {
    let found = faults("metadata: {nam: t}\nbase: x\nresources: {cpu: 99}\nagent: []\nbuild: {run: x}\n");
    let lines: Vec<&str> = found.iter().map(|fault| fault.split(':').next().expect("line")).collect();
    assert_eq!(lines, ["1", "1", "1", "2", "3", "4", "5"], "{found:#?}");
}
