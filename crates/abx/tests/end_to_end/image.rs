//! What is in an image, and what is not.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use abx_test::TestContext;

use super::with_python;

/// Builds and exports the template, and unpacks the archive.
fn export(abx: &TestContext, template: &str) -> std::path::PathBuf {
    abx.run(&["template", "build", template, "--name", "exported", "--tag", "1"]).success();
    let ran = abx.run(&["template", "export", "exported:1", "-o", "image.tar"]);
    assert_eq!(ran.success(), "");
    let folder = abx.folder().join("unpacked");
    std::fs::create_dir(&folder).expect("folder");
    tar(&["-xf", "image.tar", "-C", "unpacked"], abx.folder());
    folder
}

#[track_caller]
fn tar(words: &[&str], folder: &Path) -> String {
    let output = Command::new("tar").args(words).current_dir(folder).output().expect("tar");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn blob(folder: &Path, digest: &serde_json::Value) -> std::path::PathBuf {
    folder.join("blobs/sha256").join(digest.as_str().expect("a digest").trim_start_matches("sha256:"))
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).expect("read")).expect("json")
}

#[test]
fn an_export_is_a_standard_image_without_caches_and_without_the_hosts_settings() {
    let Some(abx) = with_python() else { return };
    let template = abx.template(
        "clean",
        "base:\n  from: python-base\nbuild:\n  apt_install: [hello]\n  pip_install: [iniconfig]\n  run: [touch /made]\n",
    );
    let folder = export(&abx, &template);
    let index = json(&folder.join("index.json"));
    assert_eq!(json(&folder.join("oci-layout"))["imageLayoutVersion"], "1.0.0");
    let manifest = json(&blob(&folder, &index["manifests"][0]["digest"]));
    let config = json(&blob(&folder, &manifest["config"]["digest"]));
    let settings = &config["config"];
    assert_eq!(
        (&settings["User"], &settings["WorkingDir"]),
        (&"user".into(), &"/app".into()),
        "{settings:#}"
    );
    let env = settings["Env"].to_string();
    for word in ["proxy", "CERT", "CA_BUNDLE", "PIP_INDEX", "REGISTRY", "/run/abx"] {
        assert!(!env.contains(word), "{word}: {env}");
    }
    // As `docker load` wants it.
    assert!(folder.join("manifest.json").exists());

    // The last word on each path: layers come bottom first.
    let mut files = BTreeMap::new();
    for layer in manifest["layers"].as_array().expect("layers") {
        let path = blob(&folder, &layer["digest"]);
        for line in tar(&["-tvf", path.to_str().expect("text")], &folder).lines() {
            let fields: Vec<_> = line.split_whitespace().collect();
            if fields[0].starts_with('d') {
                continue;
            }
            files.insert(fields[5].trim_start_matches("./").to_owned(), fields[2].to_owned());
        }
    }
    assert!(files.contains_key("made"), "a whole image: {} files", files.len());
    let is_cache = |path: &str| {
        (path.starts_with("var/cache/apt/") && (path.ends_with(".deb") || path.ends_with(".bin")))
            || (path.starts_with("var/lib/apt/lists/") && path.contains("Packages"))
            || ["root/.cache/", "home/user/.cache/", "root/.npm", "var/log/apt/", "run/abx"]
                .iter()
                .any(|start| path.starts_with(start))
    };
    let caches: Vec<_> = files.keys().filter(|path| is_cache(path)).collect();
    assert!(caches.is_empty(), "{caches:#?}");
    for path in ["etc/resolv.conf", "root/.npmrc", "etc/npmrc", "etc/apt/apt.conf", ".dockerenv"] {
        let size = files.get(path).map_or("0", String::as_str);
        assert_eq!(size, "0", "{path} has content");
    }
}

#[test]
fn other_tools_read_an_export() {
    if Command::new("skopeo").arg("--version").output().is_err() {
        abx_test::skip("skopeo is not installed");
        return;
    }
    let Some(abx) = super::with_debian() else { return };
    let template =
        abx.template("read", "base:\n  image: debian:bookworm-slim\nbuild:\n  run: [touch /made]\n");
    export(&abx, &template);
    for kind in ["oci-archive", "docker-archive"] {
        let source = format!("{kind}:{}", abx.folder().join("image.tar").display());
        let target = format!("dir:{}", abx.folder().join(kind).display());
        let words = ["--insecure-policy", "copy", "-q", &source, &target];
        let output = Command::new("skopeo").args(words).output().expect("skopeo");
        assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
