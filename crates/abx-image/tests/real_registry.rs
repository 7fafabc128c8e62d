//! The registry everyone runs: what we push comes back the same, and what another tool pushes of our export.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use abx_core::{Code, Fault, Home, Silent};
use abx_image::registry::tags;
use abx_image::{
    CredentialSource, Credentials, Digest, ExportOptions, Image, ImageConfig, ImageError, ImageStore,
    LayerId, LayerRecord, OpenUploads, Origin, PackOptions, Platform, RegistryName, RegistrySettings, pack,
    pull, push,
};
use abx_test::docker_registry::{DockerRegistry, USER};
use abx_test::skip;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, lsetxattr, mknodat};

fn installed(tool: &str) -> bool {
    Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn packed(path: &Path) -> Digest {
    pack(path, PackOptions::default(), std::io::sink()).expect("pack").diff_id
}

/// A layer with what is easily lost.
fn fill(fs: &Path) {
    std::fs::create_dir(fs.join("dir")).expect("mkdir");
    std::fs::write(fs.join("dir/tool"), "tool").expect("write");
    std::fs::hard_link(fs.join("dir/tool"), fs.join("alias")).expect("link");
    std::os::unix::fs::symlink("dir/tool", fs.join("link")).expect("symlink");
    std::os::unix::fs::chown(fs.join("dir"), Some(1000), Some(1000)).expect("chown");
    let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    lsetxattr(fs.join("dir/tool"), "security.capability", &capability, XattrFlags::empty())
        .expect("capability");
    mknodat(CWD, fs.join("gone"), FileType::CharacterDevice, Mode::empty(), 0).expect("whiteout");
    lsetxattr(fs.join("dir"), "trusted.overlay.opaque", b"y", XattrFlags::empty()).expect("opaque");
}

/// An image of one layer, with so many bytes that do not compress in it.
fn image(store: &ImageStore, noise: usize) -> Image {
    let staged = store.begin_layer().expect("begin");
    fill(&staged.fs());
    let mut state = 7_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let noise: Vec<u8> = std::iter::repeat_with(next).take(noise).collect();
    std::fs::write(staged.fs().join("noise"), noise).expect("write");
    let layer = staged.publish(LayerId("a".repeat(64)), &LayerRecord::new("test")).expect("publish");
    let config = ImageConfig {
        architecture: "amd64".into(),
        env: vec![("PATH".into(), "/bin".into())],
        history: vec!["test".into()],
        ..ImageConfig::default()
    };
    let origin = Origin::Archive { release: "none".into(), date: "none".into(), packages: Vec::new() };
    store.put_image(vec![layer], config, origin).expect("put")
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime").block_on(work)
}

/// The same log-in everywhere.
#[derive(Debug)]
struct Everywhere(Credentials);

impl CredentialSource for Everywhere {
    fn find(&self, _: &str, _: &str) -> Result<Option<Credentials>, ImageError> {
        Ok(Some(self.0.clone()))
    }
}

fn settings(user: &str, password: &str) -> RegistrySettings {
    let source = Everywhere(Credentials::password(user, password));
    RegistrySettings { credentials: Some(Arc::new(source)), ..RegistrySettings::default() }
}

#[test]
fn what_we_push_comes_back_the_same() {
    if !rustix::process::geteuid().is_root() {
        return skip("whiteouts and owners need root");
    }
    let anonymous = RegistrySettings::default();
    let logged_in = settings(USER.0, USER.1);
    for (server, settings) in
        [(DockerRegistry::start(), &anonymous), (DockerRegistry::start_with_log_in(), &logged_in)]
    {
        let Some(server) = server else { return };
        let dir = tempfile::tempdir().expect("tempdir");
        let ours = ImageStore::open(&Home::new(dir.path().join("ours")));
        // Chunks, and a rest.
        let image = image(&ours, (17 << 20) + 1);
        let name = |text: &str| RegistryName::parse(&format!("{}/{text}", server.host())).expect("a name");
        let push = |to: &str| {
            run(push(&ours, &image, &name(to), &[], settings, &OpenUploads::default(), &Silent)).expect(to)
        };
        let pushed = push("team/app:1");
        assert_eq!((pushed.sent, push("team/app:2").sent, push("other/app:1").sent), (1, 0, 0));
        assert_eq!(run(tags(&name("team/app"), settings)).expect("tags"), ["1", "2"]);

        let theirs = ImageStore::open(&Home::new(dir.path().join("theirs")));
        let platform = Platform::parse("linux/amd64").expect("a platform");
        for repository in ["team/app:1", "other/app:1"] {
            let name = name(repository).to_string();
            let pulled = run(pull(&theirs, &name, &platform, settings, &Silent)).expect("pull");
            assert_eq!(pulled.config, image.config);
            assert_eq!(
                packed(&theirs.layer_path(&pulled.layers[0])),
                packed(&ours.layer_path(&image.layers[0]))
            );
        }
        // What was pulled is pushed on as it came.
        let pulled =
            run(pull(&theirs, &name("team/app:1").to_string(), &platform, settings, &Silent)).expect("pull");
        let third = name("third/app:1");
        let on =
            run(abx_image::push(&theirs, &pulled, &third, &[], settings, &OpenUploads::default(), &Silent));
        assert_eq!(on.expect("push on").sent, 0);
    }
}

#[test]
fn a_registry_that_wants_a_log_in_says_so() {
    if !rustix::process::geteuid().is_root() {
        return skip("whiteouts and owners need root");
    }
    let Some(server) = DockerRegistry::start_with_log_in() else { return };
    let dir = tempfile::tempdir().expect("tempdir");
    let store = ImageStore::open(&Home::new(dir.path()));
    let image = image(&store, 0);
    let name = RegistryName::parse(&format!("{}/team/app:1", server.host())).expect("a name");
    for (settings, code) in [
        (RegistrySettings::default(), Code::RegistryLogin),
        (settings(USER.0, "wrong"), Code::RegistryCredentials),
    ] {
        let error = run(push(&store, &image, &name, &[], &settings, &OpenUploads::default(), &Silent))
            .expect_err("refused");
        assert_eq!(error.code(), code, "{error:?}");
        let platform = Platform::parse("linux/amd64").expect("a platform");
        let error = run(pull(&store, &name.to_string(), &platform, &settings, &Silent)).expect_err("refused");
        assert_eq!(error.code(), code, "{error:?}");
        assert!(!format!("{error:?}").contains("wrong"));
    }
}

#[test]
fn what_others_push_comes_back_the_same() {
    if !rustix::process::geteuid().is_root() {
        return skip("whiteouts and owners need root");
    }
    if !installed("skopeo") {
        return skip("skopeo is not installed: apt-get install skopeo");
    }
    let Some(server) = DockerRegistry::start() else { return };
    let dir = tempfile::tempdir().expect("tempdir");
    let ours = ImageStore::open(&Home::new(dir.path().join("ours")));
    let image = image(&ours, 0);
    let layer = image.layers[0].clone();
    let tar = dir.path().join("image.tar");
    ours.export_oci_file(&image, &["app:1"], ExportOptions::default(), &tar).expect("export");

    for (tag, format, compression) in
        [("oci", "oci", "gzip"), ("docker", "v2s2", "gzip"), ("zstd", "oci", "zstd")]
    {
        let name = format!("{}/team/app:{tag}", server.host());
        let output = Command::new("skopeo")
            .env("TMPDIR", dir.path())
            .args([
                "--insecure-policy",
                "copy",
                "-q",
                "--dest-tls-verify=false",
                "--dest-compress-format",
                compression,
            ])
            .args([
                "--format",
                format,
                &format!("oci-archive:{}", tar.display()),
                &format!("docker://{name}"),
            ])
            .output()
            .expect("run skopeo");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let theirs = ImageStore::open(&Home::new(dir.path().join(tag)));
        let platform = Platform::parse("linux/amd64").expect("a platform");
        let settings = RegistrySettings::default();
        let pulled = run(pull(&theirs, &name, &platform, &settings, &Silent)).expect("pull");
        assert_eq!(pulled.config, image.config, "{tag}");
        assert_eq!(packed(&theirs.layer_path(&pulled.layers[0])), packed(&ours.layer_path(&layer)), "{tag}");
    }
}
