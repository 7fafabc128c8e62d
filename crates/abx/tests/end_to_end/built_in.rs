//! The built-in templates are what their design says.

use serde_json::json;

use super::shared;

#[test]
fn base_has_its_tools_user_folder_and_resources() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    sandbox.sh("for tool in bash curl wget git vim jq unzip; do command -v $tool; done");
    assert_eq!(sandbox.sh("id -un; id -u; id -g; pwd; echo $HOME"), "user\n1000\n1000\n/app\n/home/user\n");
    assert_eq!(sandbox.sh("grep -o '^VERSION_CODENAME=.*' /etc/os-release"), "VERSION_CODENAME=bookworm\n");
    assert!(sandbox.sh("python3 --version").starts_with("Python 3.11."));
    assert_eq!(sandbox.sh("touch here; stat -c %U here /app /home/user"), "user\nuser\nuser\n");
    let info = sandbox.info();
    for (key, value) in [
        ("cpu", json!(1.0)),
        ("memory", json!(2048)),
        ("disk", json!(10240)),
        ("pids", json!(2048)),
        ("user", json!("user")),
        ("workdir", json!("/app")),
        ("shell", json!("/bin/bash")),
        ("mode", json!("ephemeral")),
        ("timeout", json!(600)),
        ("idle_timeout", json!(300)),
        ("ports", json!([])),
        ("capabilities", json!(["shell", "files", "code"])),
        ("health", json!("none")),
    ] {
        assert_eq!(info[key], value, "{key}: {info:#}");
    }
}

#[test]
fn python_base_has_its_tools_and_packages_on_top_of_base() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["python-base", "--network", "none"]);
    sandbox.sh("for tool in git jq python3.11 pip poetry ipython; do command -v $tool; done");
    sandbox.sh("python3 -c 'import requests, httpx, pydantic, rich, venv'; python3 -m venv /tmp/v && /tmp/v/bin/pip --version");
    sandbox.sh("poetry --version; ipython --version; pip --version");
    assert_eq!(sandbox.info()["template"], "python-base:1.0.0");
}

#[test]
fn python_is_python3_in_every_template_with_python() {
    let Some(abx) = shared() else { return };
    for template in ["base", "python-base"] {
        let sandbox = abx.create(&[template, "--network", "none"]);
        let versions = sandbox.sh("python --version; python3 --version");
        let (one, other) = versions.trim_end().split_once('\n').expect("two lines");
        assert_eq!(one, other, "{template}");
    }
}

#[test]
fn an_alias_is_the_template_it_stands_for() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["python", "--network", "none"]);
    assert_eq!(sandbox.info()["template"], "python-base:1.0.0");
}

#[test]
fn a_login_shell_keeps_the_templates_variables() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["python-base", "--network", "none"]);
    let show = "echo \"$PYTHONUNBUFFERED $LANG $PATH\"";
    let plain = sandbox.exec(&["bash", "-c", show]).success();
    let login = sandbox.exec(&["bash", "-lc", show]).success();
    assert_eq!(plain, login);
    assert!(plain.starts_with("1 C.UTF-8 /"), "{plain}");
}

#[test]
fn sudo_makes_root_without_a_password() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    assert_eq!(sandbox.sh("sudo id -u"), "0\n");
    sandbox.sh("sudo touch /etc/new && sudo chown user /etc/new && sudo rm /etc/new; sudo -u nobody true");
}

#[test]
fn pip_works_for_the_user_and_packages_come_from_the_archives() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["python-base"]);
    let ran = sandbox.exec(&["pip", "install", "-q", "iniconfig"]);
    if ran.status != Some(0) && ran.stderr.contains("Could not find a version") {
        abx_test::skip("no package index within reach");
        return;
    }
    assert!(!ran.stderr.contains("externally-managed"), "{ran:#?}");
    ran.success();
    assert!(
        sandbox.sh("python3 -c 'import iniconfig; print(iniconfig.__file__)'").starts_with("/home/user/")
    );
    let update = sandbox.exec(&[
        "sh",
        "-c",
        "sudo apt-get -qq update && sudo apt-get -qq install -y tree && tree --version",
    ]);
    update.success();
}
