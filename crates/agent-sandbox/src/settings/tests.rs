use super::key::{KEYS, Named};
use super::*;
use abx_core::Fault;

/// Loads a file with this text, and no variables.
fn load(text: &str) -> Result<Settings, SettingsError> {
    let folder = tempfile::tempdir().expect("tempdir");
    let file = folder.path().join("config.toml");
    std::fs::write(&file, text).expect("write");
    Settings::load(Some(&file), &|_| None)
}

#[test]
fn every_default_fits_its_own_key_and_goes_back_in() {
    let defaults = Settings::default();
    defaults.check().expect("defaults make sense together");
    for key in KEYS {
        let host = if key.is_of_registry() { "h.example" } else { "" };
        let named = Named { key, host: host.into() };
        assert_eq!(Named::parse(&named.to_string()).map(|named| named.to_string()), Some(named.to_string()));
        let Some(value) = named.value(&defaults) else { continue };
        let value = key.kind.read(&value).unwrap_or_else(|expected| panic!("{named}: {expected}"));
        let mut settings = Settings::default();
        key.put(&mut settings, host, value);
        settings.registry.clear();
        assert_eq!(settings, defaults, "{named}");
    }
}

#[test]
fn a_file_says_what_it_says_and_the_rest_is_default() {
    let folder = tempfile::tempdir().expect("tempdir");
    let absent = folder.path().join("config.toml");
    assert_eq!(Settings::load(Some(&absent), &|_| None).expect("absent"), Settings::default());
    let settings = load(
        "cache_ttl = 60\narchive.expanded = \"2GiB\"\n[limits]\ncpu_max = 8\n\
         [registry.\"docker.io\"]\nmirror = \"127.0.0.1:5000\"\n",
    )
    .expect("valid");
    assert_eq!((settings.cache_ttl, settings.archive.expanded), (60, 2 << 30));
    assert_eq!((settings.limits.cpu_max, settings.limits.cpu_min), (8.0, 0.1));
    assert_eq!(settings.registry["docker.io"].mirror.as_deref(), Some("127.0.0.1:5000"));
    assert_eq!(settings.debian_mirror, Settings::default().debian_mirror);
}

#[test]
fn faults_have_their_place_and_no_secret() {
    for (text, message, hint, place) in [
        ("x = 1\nhost", "config.toml: ", "", (2, 5)),
        (
            "host_network_config = true\ndebian_miror = \"x\"\n",
            "no setting `debian_miror`",
            "`debian_mirror`",
            (2, 1),
        ),
        ("[archive]\nentrys = 1\n", "no setting `archive.entrys`", "`archive.entries`", (2, 1)),
        ("[registry.\"h\"]\nmiror = \"x\"\n", "no setting", "`registry.HOST.mirror`", (2, 1)),
        ("cache_ttl = \"soon\"\n", "`soon` does not fit `cache_ttl`", "seconds, or with a unit", (1, 13)),
        ("cache_ttl = [1]\n", "does not fit `cache_ttl`", "seconds", (1, 13)),
        (
            "limits.cpu_max = 0.05\nlimits.cpu_min = 1",
            "`limits.cpu_min` is above `limits.cpu_max`",
            "",
            (0, 0),
        ),
        (
            "github_token = \"ghp_canary\"\n",
            "`github_token` is a secret",
            "abx config set github_token",
            (1, 1),
        ),
        ("github_token = ghp_canary\n", "config.toml: ", "", (1, 16)),
    ] {
        let error = load(text).expect_err(text);
        let shown = format!("{error} {:?} {:?} {error:?}", error.hints(), error.snippets());
        assert!(error.to_string().contains(message), "{text:?}: {error}");
        assert!(error.hints().join(" ").contains(hint), "{text:?}: {:?}", error.hints());
        let found = error.snippets().first().map_or((0, 0), |snippet| (snippet.line, snippet.column));
        assert_eq!(found, place, "{text:?}");
        assert!(!shown.contains("canary"), "{shown}");
    }
}

#[test]
fn a_variable_goes_before_the_file_and_blank_is_not_set() {
    let folder = tempfile::tempdir().expect("tempdir");
    let file = folder.path().join("config.toml");
    std::fs::write(&file, "cache_ttl = 60\n").expect("write");
    let load = |value: &str| {
        let value = value.to_owned();
        Settings::load(Some(&file), &move |name| (name == "ABX_CACHE_TTL").then(|| value.clone()))
    };
    assert_eq!(load("2m").expect("valid").cache_ttl, 120);
    assert_eq!(load(" ").expect("valid").cache_ttl, 60);
    let error = load("soon").expect_err("no time");
    assert_eq!(error.to_string(), "`soon` does not fit `ABX_CACHE_TTL`");
}

#[test]
fn editing_keeps_comments_and_order() {
    let file = Path::new("config.toml");
    let before = "# mine\n\n# how long\ncache_ttl = 60 # a minute\ndebian_mirror = \"https://h/debian\"\n\n[limits]\n# many\ncpu_max = 8\n";
    let set = |text: &str, name: &str, value: &str| {
        let named = Named::parse(name).expect(name);
        document::set(text, file, &named, &named.key.kind.read(value).expect(value)).expect("set")
    };
    assert_eq!(set(before, "cache_ttl", "5"), before.replace("= 60 #", "= 5 #"));
    assert_eq!(set(before, "limits.cpu_max", "2.5"), before.replace("= 8", "= 2.5"));
    assert_eq!(
        set(before, "host_network_config", "no"),
        before.replace("\n\n[limits]", "\nhost_network_config = false\n\n[limits]")
    );
    let with_mirror = set(before, "registry.docker.io.mirror", "127.0.0.1:5000");
    assert_eq!(with_mirror, format!("{before}\n[registry.\"docker.io\"]\nmirror = \"127.0.0.1:5000\"\n"));
    assert_eq!(set("", "archive.entries", "5"), "[archive]\nentries = 5\n");

    let unset = |text: &str, path: &[&str]| {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        document::unset(text, file, &path).expect("unset")
    };
    assert_eq!(unset(&with_mirror, &["registry", "docker.io", "mirror"]), (before.to_owned(), true));
    assert_eq!(unset(before, &["limits", "disk_max"]), (before.to_owned(), false));
    assert_eq!(
        unset(before, &["cache_ttl"]),
        (before.replace("# how long\ncache_ttl = 60 # a minute\n", ""), true)
    );
}

/// The rows of `docs/settings.md`.
fn reference() -> String {
    let defaults = Settings::default();
    let mut rows = String::from("| key | default | fits | what it is |\n|---|---|---|---|\n");
    for key in KEYS {
        let host = if key.is_of_registry() { "HOST" } else { "" };
        let default = Named { key, host: host.into() }.value(&defaults);
        let default = default.map_or_else(String::new, |default| format!("`{default}`"));
        rows += &format!("| `{}` | {default} | {} | {} |\n", key.name, key.kind.expects(), key.help);
    }
    for secret in secrets::SECRETS {
        rows += &format!("| `{}` | | a token | {} |\n", secret.name, secret.help);
    }
    rows
}

#[test]
fn the_reference_tells_of_every_key() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let expected = reference();
    assert!(text.contains(&expected), "docs/settings.md should have this table:\n{expected}");
}
