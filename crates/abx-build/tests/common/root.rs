//! A small root for builds: an image of this host's shell and a few tools.

use std::path::{Path, PathBuf};
use std::process::Command;

use abx_image::{Image, ImageConfig, ImageStore, LayerId, LayerRecord, Origin};

const PROGRAMS: [&str; 19] = [
    "bash", "cat", "chmod", "chown", "cp", "env", "head", "id", "ln", "ls", "mkdir", "mv", "readlink", "rm",
    "seq", "sleep", "stat", "touch", "tr",
];

/// Why builds cannot be tried here.
pub(crate) fn unfit() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("building needs root".into());
    }
    let missing = PROGRAMS.iter().find(|name| find(name).is_none())?;
    Some(format!("the host has no {missing}"))
}

fn find(program: &str) -> Option<PathBuf> {
    ["/usr/bin", "/bin"]
        .iter()
        .map(|directory| Path::new(directory).join(program))
        .find(|path| path.is_file())
}

/// An image of this host's shell, a few tools and the libraries they need.
pub(crate) fn base(store: &ImageStore) -> Image {
    let id = LayerId("b".repeat(64));
    let staged = store.begin_layer().expect("begin");
    let root = staged.fs();
    for directory in ["usr/bin", "etc", "proc", "sys", "dev", "run", "tmp", "root"] {
        std::fs::create_dir_all(root.join(directory)).expect("mkdir");
    }
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    std::fs::set_permissions(root.join("tmp"), open).expect("chmod");
    std::os::unix::fs::symlink("usr/bin", root.join("bin")).expect("link");
    std::os::unix::fs::symlink("bash", root.join("usr/bin/sh")).expect("link");
    std::fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/bash\n").expect("write");
    std::fs::write(root.join("etc/group"), "root:x:0:\n").expect("write");
    for program in PROGRAMS {
        let source = find(program).expect(program);
        copy(&source, &root.join("usr/bin").join(program));
        for library in libraries(&source) {
            let target = root.join(library.strip_prefix("/").expect("absolute"));
            std::fs::create_dir_all(target.parent().expect("parent")).expect("mkdir");
            copy(&library, &target);
        }
    }
    staged.publish(id.clone(), &LayerRecord::new("tools of the host")).expect("publish");
    let origin = Origin::Registry { name: "tools".into(), digest: "sha256:0".into() };
    store.put_image(vec![id], ImageConfig::default(), origin).expect("image")
}

/// Another process writes the copy: a descriptor of ours would be shared with whatever other tests fork at that moment,
/// and a file that is open for writing cannot be executed.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().expect("cp");
    assert!(status.success(), "cannot copy {}", from.display());
}

fn libraries(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().expect("ldd");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}
