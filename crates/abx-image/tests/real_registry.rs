//! Export, push by another tool to the registry everyone runs, pull back: the same files.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use abx_core::{Home, Silent};
use abx_image::{
    Digest, ExportOptions, ImageConfig, ImageStore, LayerId, LayerRecord, Origin, PackOptions, Platform,
    RegistrySettings, pack, pull,
};
use rustix::fs::{CWD, FileType, Mode, XattrFlags, lsetxattr, mknodat};

/// `docker-registry` on a free port, ended with the test.
struct Server {
    child: Child,
    host: String,
}

impl Server {
    fn start(dir: &Path) -> Self {
        let free =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
        let config = dir.join("registry.yml");
        let data = dir.join("registry");
        let text = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp: {{addr: '{free}'}}\n",
            data.display()
        );
        std::fs::write(&config, text).expect("write");
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(&config).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self { child: command.spawn().expect("start the registry"), host: free.to_string() };
        // It answers within a moment, or the pushes below say what is wrong.
        for _ in 0..200 {
            if std::net::TcpStream::connect(free).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(25));
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}

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

#[test]
fn what_others_push_comes_back_the_same() {
    if !rustix::process::geteuid().is_root() {
        return skipped("whiteouts and owners need root");
    }
    if !installed("docker-registry") || !installed("skopeo") {
        return skipped("docker-registry and skopeo are not both installed");
    }
    let dir = tempfile::tempdir().expect("tempdir");
    let ours = ImageStore::open(&Home::new(dir.path().join("ours")));
    let staged = ours.begin_layer().expect("begin");
    fill(&staged.fs());
    let layer = staged.publish(LayerId("a".repeat(64)), &LayerRecord::new("test")).expect("publish");
    let config = ImageConfig {
        architecture: "amd64".into(),
        env: vec![("PATH".into(), "/bin".into())],
        history: vec!["test".into()],
        ..ImageConfig::default()
    };
    let origin = Origin::Archive { release: "none".into(), date: "none".into(), packages: Vec::new() };
    let image = ours.put_image(vec![layer.clone()], config, origin).expect("put");
    let tar = dir.path().join("image.tar");
    ours.export_oci_file(&image, &["app:1"], ExportOptions::default(), &tar).expect("export");

    let server = Server::start(dir.path());
    for (tag, format, compression) in
        [("oci", "oci", "gzip"), ("docker", "v2s2", "gzip"), ("zstd", "oci", "zstd")]
    {
        let name = format!("{}/team/app:{tag}", server.host);
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
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        let pulled = runtime.block_on(pull(&theirs, &name, &platform, &settings, &Silent)).expect("pull");
        assert_eq!(pulled.config, image.config, "{tag}");
        assert_eq!(packed(&theirs.layer_path(&pulled.layers[0])), packed(&ours.layer_path(&layer)), "{tag}");
    }
}
