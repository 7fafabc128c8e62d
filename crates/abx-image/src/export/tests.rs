use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use abx_core::Home;
use tempfile::TempDir;

use super::*;
use crate::{ImageConfig, LayerRecord, Origin, unpack};

/// A store with an image of two layers, the upper of which removes a file of the lower.
fn image() -> Option<(TempDir, ImageStore, Image)> {
    if !rustix::process::geteuid().is_root() {
        skipped("whiteouts need root");
        return None;
    }
    let dir = tempfile::tempdir().expect("tempdir");
    let store = ImageStore::open(&Home::new(dir.path().join("home")));
    let mut layers = Vec::new();
    for letter in ["a", "b"] {
        let staged = store.begin_layer().expect("begin");
        let tool = staged.fs().join(letter);
        std::fs::write(&tool, letter.repeat(10_000)).expect("write");
        std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).expect("chmod");
        if letter == "b" {
            let kind = rustix::fs::FileType::CharacterDevice;
            let gone = staged.fs().join("gone");
            rustix::fs::mknodat(rustix::fs::CWD, gone, kind, rustix::fs::Mode::empty(), 0).expect("whiteout");
        }
        let id = LayerId(Digest::of(letter.as_bytes()).hex().to_owned());
        layers.push(
            staged.publish(id, &LayerRecord { created_by: letter.into(), created: 86_400 }).expect("publish"),
        );
    }
    let mut config = ImageConfig {
        architecture: "amd64".into(),
        cmd: vec!["/a".into()],
        history: vec!["add a".into(), "add b".into()],
        ..ImageConfig::default()
    };
    config.set_env("PATH", "/bin");
    let origin = Origin::Archive { release: "bookworm".into(), date: "today".into(), packages: Vec::new() };
    let image = store.put_image(layers, config, origin).expect("put");
    Some((dir, store, image))
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}

fn members(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(bytes);
    let entries = archive.entries().expect("entries").map(|entry| {
        let mut entry = entry.expect("entry");
        let mut data = Vec::new();
        entry.read_to_end(&mut data).expect("data");
        (String::from_utf8(entry.path_bytes().into_owned()).expect("text"), data)
    });
    entries.collect()
}

#[test]
fn both_forms_name_blobs_that_are_there_and_right() {
    let Some((dir, store, image)) = image() else { return };
    for gzip in [false, true] {
        let options = ExportOptions { gzip };
        let mut bytes = Vec::new();
        let names = ["base:1.0", "host:5000/team/base"];
        let exported = store.export_oci(&image, &names, options, &mut bytes).expect("export");
        let mut again = Vec::new();
        store.export_oci(&image, &names, options, &mut again).expect("export");
        assert!(bytes == again, "the same image gives the same bytes");
        let members = members(&bytes);
        for (name, data) in members.iter().filter(|(name, _)| name.len() > "blobs/sha256/".len()) {
            if let Some(hex) = name.strip_prefix("blobs/sha256/") {
                assert_eq!(Digest::of(data).hex(), hex);
            }
        }
        let json = |name: &str| serde_json::from_slice::<serde_json::Value>(&members[name]).expect(name);
        let index = json("index.json");
        let full = index.pointer("/manifests/0/annotations/io.containerd.image.name").expect("name");
        assert_eq!(full, "docker.io/library/base:1.0");
        assert_eq!(index.pointer("/manifests/1/digest").expect("digest"), &exported.manifest.to_string());
        let docker = json("manifest.json");
        assert_eq!(
            docker.pointer("/0/RepoTags").expect("tags"),
            &json!(["base:1.0", "host:5000/team/base:latest"])
        );
        let config_path = docker.pointer("/0/Config").and_then(|path| path.as_str()).expect("config");
        let file = oci::ImageFile::read(&members[config_path]).expect("config");
        assert_eq!(file.to_config(), image.config);
        for (index, diff_id) in file.diff_ids().iter().enumerate() {
            let path =
                docker.pointer(&format!("/0/Layers/{index}")).and_then(|path| path.as_str()).expect("layer");
            let into = dir.path().join(format!("unpacked-{gzip}-{index}"));
            std::fs::create_dir(&into).expect("mkdir");
            assert_eq!(unpack(&members[path][..], &into).expect("unpack").diff_id, *diff_id);
        }
    }
    let left = std::fs::read_dir(store.home().store("staging")).expect("list").count();
    assert_eq!(left, 0);
}

#[test]
fn a_failed_export_leaves_no_file() {
    let Some((dir, store, mut image)) = image() else { return };
    image.layers.push(LayerId("0".repeat(64)));
    let out = dir.path().join("out");
    std::fs::create_dir(&out).expect("mkdir");
    let error = store.export_oci_file(&image, &[], ExportOptions::default(), &out.join("x.tar"));
    assert!(matches!(error, Err(ImageError::NoLayer { .. })), "{error:?}");
    assert_eq!(std::fs::read_dir(&out).expect("list").count(), 0);
}

#[test]
fn skopeo_reads_both_forms() {
    let Some((dir, store, image)) = image() else { return };
    if Command::new("skopeo").arg("--version").output().is_err() {
        return skipped("skopeo is not installed");
    }
    let path = dir.path().join("image.tar");
    let exported =
        store.export_oci_file(&image, &["base:1.0"], ExportOptions::default(), &path).expect("export");
    for form in ["oci-archive", "docker-archive"] {
        let target = dir.path().join(form);
        let (source, target) = (format!("{form}:{}", path.display()), format!("dir:{}", target.display()));
        let output = Command::new("skopeo")
            .env("TMPDIR", dir.path())
            .args(["--insecure-policy", "copy", "-q", &source, &target])
            .output()
            .expect("run skopeo");
        assert!(output.status.success(), "{form}: {}", String::from_utf8_lossy(&output.stderr));
        let config = dir.path().join(form).join(exported.config.hex());
        let file = oci::ImageFile::read(&std::fs::read(config).expect("config")).expect("read");
        assert_eq!(file.to_config(), image.config, "{form}");
    }
}
