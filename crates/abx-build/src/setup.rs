//! The first step of a template: its user, its directories, and what every image needs to run.

use std::io;
use std::path::Path;

use crate::canvas::{Canvas, Owner, attributes};
use crate::passwd::{Database, User, is_user_name};
use crate::view::View;

/// Files that are bound over at run time; empty ones are made where the image has none.
const BOUND: [&str; 3] = ["/etc/resolv.conf", "/etc/hosts", "/etc/hostname"];
/// Directories that are mounted over at run time, and the places for temporary files.
const DIRECTORIES: [(&str, u32); 8] = [
    ("/proc", 0o555),
    ("/sys", 0o555),
    ("/dev", 0o755),
    ("/run", 0o755),
    ("/tmp", 0o1777),
    ("/var/tmp", 0o1777),
    ("/root", 0o700),
    ("/etc/profile.d", 0o755),
];

/// Asked by packages before they start a service at their installation. Refused, as in the images of
/// registries: nothing would end the service in good order when the step is over.
const POLICY: &str = "/usr/sbin/policy-rc.d";
const POLICY_TEXT: &[u8] = b"#!/bin/sh\nexit 101\n";

/// Why a user cannot be had.
#[derive(Debug)]
pub(crate) enum SetupFailure {
    /// The name cannot stand in the user database.
    UserName,
    Io(io::Error),
}

impl From<io::Error> for SetupFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Does the step on `canvas`.
pub(crate) fn setup(canvas: &Canvas, user: &str, workdir: &str) -> Result<(), SetupFailure> {
    for (path, mode) in DIRECTORIES {
        if !canvas.view().exists(path)? {
            canvas.directory(Path::new(path), mode, Owner::ROOT)?;
        }
    }
    for path in BOUND {
        // A link into /run leads to a file that is made there at run time.
        if !canvas.view().exists(path)? && !canvas.view().real(path)?.starts_with("/run") {
            canvas.file(path, b"", 0o644, Owner::ROOT)?;
        }
    }
    if canvas.view().exists("/usr/bin/dpkg")? && !canvas.view().exists(POLICY)? {
        canvas.file(POLICY, POLICY_TEXT, 0o755, Owner::ROOT)?;
    }
    crate::python::settle(canvas)?;
    let owner = ensure_user(canvas, user)?;
    let workdir = Path::new(workdir);
    canvas.directory(workdir, 0o755, owner)?;
    if is_own(canvas.view(), workdir)? {
        canvas.give(workdir, owner)?;
    }
    Ok(())
}

/// Whether a working directory may be given to the user: not a directory the system lives in, nor one that
/// is open to all anyway.
fn is_own(view: &View, workdir: &Path) -> io::Result<bool> {
    const SYSTEM: [&str; 12] =
        ["/", "/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/root", "/run", "/sbin", "/sys", "/usr"];
    let Some(found) = view.find(workdir)? else { return Ok(true) };
    let (mode, _) = attributes(&found.metadata);
    Ok(mode & 0o002 == 0 && !SYSTEM.iter().any(|path| Path::new(path) == found.inside))
}

/// Who a user name stands for in an image; `None` where it has no such user. A number stands for itself.
pub(crate) fn owner_of(view: &View, user: &str) -> io::Result<Option<Owner>> {
    let (user, group) = user.split_once(':').unwrap_or((user, ""));
    let passwd = view.read("/etc/passwd")?.unwrap_or_default();
    let known = Database { passwd, ..Database::default() }.find(user);
    Ok(match (known, user.parse()) {
        (Some(user), _) => Some(Owner { uid: user.uid, gid: user.gid }),
        (None, Ok(uid)) => Some(Owner { uid, gid: group.parse().unwrap_or(uid) }),
        (None, Err(_)) if user == "root" || user.is_empty() => Some(Owner::ROOT),
        (None, Err(_)) => None,
    })
}

fn ensure_user(canvas: &Canvas, name: &str) -> Result<Owner, SetupFailure> {
    if let Some(owner) = owner_of(canvas.view(), name)? {
        allow_sudo(canvas, name, owner)?;
        return Ok(owner);
    }
    if !is_user_name(name) {
        return Err(SetupFailure::UserName);
    }
    let user = add_user(canvas, name)?;
    let owner = Owner { uid: user.uid, gid: user.gid };
    make_home(canvas, &user, owner)?;
    allow_sudo(canvas, name, owner)?;
    Ok(owner)
}

fn add_user(canvas: &Canvas, name: &str) -> io::Result<User> {
    let view = canvas.view();
    let mut database = Database {
        passwd: view.read("/etc/passwd")?.unwrap_or_default(),
        group: view.read("/etc/group")?.unwrap_or_default(),
        shadow: view.read("/etc/shadow")?,
        gshadow: view.read("/etc/gshadow")?,
    };
    let shell = if view.exists("/bin/bash")? { "/bin/bash" } else { "/bin/sh" };
    let before = database.clone();
    let user = database.add(name, &format!("/home/{name}"), shell);
    canvas.edit("/etc/passwd", &database.passwd)?;
    if database.group != before.group {
        canvas.edit("/etc/group", &database.group)?;
    }
    for (path, before, after) in [
        ("/etc/shadow", &before.shadow, &database.shadow),
        ("/etc/gshadow", &before.gshadow, &database.gshadow),
    ] {
        if let Some(text) = after.as_ref().filter(|_| before != after) {
            canvas.edit(path, text)?;
        }
    }
    Ok(user)
}

/// Makes the home directory with what `/etc/skel` holds. One that is there keeps its content.
fn make_home(canvas: &Canvas, user: &User, owner: Owner) -> io::Result<()> {
    let home = Path::new(&user.home);
    if canvas.view().exists(home)? {
        return canvas.give(home, owner);
    }
    canvas.directory(home, 0o755, owner)?;
    copy_skeleton(canvas, Path::new("/etc/skel"), home, owner)
}

fn copy_skeleton(canvas: &Canvas, from: &Path, to: &Path, owner: Owner) -> io::Result<()> {
    for name in canvas.view().list(from)? {
        let (source, target) = (from.join(&name), to.join(&name));
        let Some(found) = canvas.view().find(&source)? else { continue };
        let (mode, _) = attributes(&found.metadata);
        if found.metadata.is_dir() {
            canvas.directory(&target, mode, owner)?;
            copy_skeleton(canvas, &source, &target, owner)?;
        } else if found.metadata.is_file() {
            drop(canvas.copy(&target, &found.host, mode, owner)?);
        }
    }
    Ok(())
}

/// Lets the user become root without a password where sudo is, or comes to be, installed.
fn allow_sudo(canvas: &Canvas, name: &str, owner: Owner) -> io::Result<()> {
    if owner == Owner::ROOT || !is_user_name(name) {
        return Ok(());
    }
    // sudo passes over files of this directory with a dot in their names.
    let path = format!("/etc/sudoers.d/abx-{}", name.replace('.', "_"));
    canvas.file(&path, format!("{name} ALL=(ALL:ALL) NOPASSWD: ALL\n").as_bytes(), 0o440, Owner::ROOT)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    /// A small image, and an empty layer over it; `None`, with the reason printed, without root.
    fn image() -> Option<(tempfile::TempDir, View, std::path::PathBuf)> {
        use std::io::Write;
        if !rustix::process::geteuid().is_root() {
            let _ = writeln!(io::stderr(), "skipped: giving files away needs root");
            return None;
        }
        let dir = tempfile::tempdir().expect("tempdir");
        let lower = dir.path().join("lower");
        for path in ["etc/skel/.config", "usr/bin", "usr/sbin", "home", "srv/real", "run"] {
            std::fs::create_dir_all(lower.join(path)).expect("mkdir");
        }
        for (path, text) in [
            ("etc/passwd", "root:x:0:0:root:/root:/bin/bash\nold:x:1000:1000::/home/old:/bin/sh\n"),
            ("etc/group", "root:x:0:\nold:x:1000:\n"),
            ("etc/shadow", "root:*:1::::::\n"),
            ("etc/skel/.profile", "p"),
            ("etc/skel/.config/x", "x"),
            ("usr/bin/bash", ""),
            ("usr/bin/dpkg", ""),
            ("usr/bin/python3", ""),
        ] {
            std::fs::write(lower.join(path), text).expect("write");
        }
        symlink("usr/bin", lower.join("bin")).expect("link");
        symlink("../run/nowhere", lower.join("etc/resolv.conf")).expect("link");
        symlink("srv/real", lower.join("work")).expect("link");
        let upper = dir.path().join("upper");
        std::fs::create_dir(&upper).expect("mkdir");
        Some((dir, View::new(vec![lower]), upper))
    }

    fn owner(path: &Path) -> (u32, u32, u32) {
        let metadata = std::fs::symlink_metadata(path).expect("metadata");
        (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
    }

    #[test]
    fn a_missing_user_is_made_with_home_workdir_and_sudo() {
        let Some((_dir, lower, upper)) = image() else { return };
        setup(&Canvas::new(&lower, &upper), "user", "/app/deep").expect("setup");
        let read = |path: &str| std::fs::read_to_string(upper.join(path)).expect(path);
        assert!(read("etc/passwd").ends_with("user:x:1001:1001::/home/user:/bin/bash\n"));
        assert!(read("etc/passwd").starts_with("root:"));
        assert!(read("etc/shadow").contains("user:!:"));
        assert!(!upper.join("etc/gshadow").exists(), "the image has none");
        assert_eq!(owner(&upper.join("home/user")), (1001, 1001, 0o755));
        assert_eq!(owner(&upper.join("home/user/.config/x")), (1001, 1001, 0o644));
        assert_eq!(owner(&upper.join("app")), (0, 0, 0o755));
        assert_eq!(owner(&upper.join("app/deep")), (1001, 1001, 0o755));
        assert_eq!(owner(&upper.join("etc/sudoers.d/abx-user")), (0, 0, 0o440));
        assert_eq!(owner(&upper.join("tmp")), (0, 0, 0o1777));
        assert_eq!(read("etc/hostname"), "");
        assert!(!upper.join("etc/resolv.conf").exists(), "the image's own link leads to /run");
        assert_eq!(owner(&upper.join("usr/sbin/policy-rc.d")).2, 0o755);
        assert_eq!(std::fs::read_link(upper.join("usr/bin/python")).expect("link"), Path::new("python3"));
    }

    #[test]
    fn a_user_the_image_has_keeps_its_ids_and_a_linked_workdir_is_given_at_its_place() {
        let Some((_dir, lower, upper)) = image() else { return };
        setup(&Canvas::new(&lower, &upper), "old", "/work").expect("setup");
        assert!(!upper.join("etc/passwd").exists());
        assert_eq!(owner(&upper.join("srv/real")), (1000, 1000, 0o755));
        assert!(!upper.join("work").exists());
    }

    #[test]
    fn the_system_is_not_given_away() {
        let Some((_dir, lower, upper)) = image() else { return };
        setup(&Canvas::new(&lower, &upper), "user", "/etc").expect("setup");
        assert_eq!(owner(&upper.join("etc")).0, 0);
        let bad = setup(&Canvas::new(&lower, &upper), "no:such", "/");
        assert!(matches!(bad, Err(SetupFailure::UserName)));
    }

    #[test]
    fn a_number_is_a_user_and_root_needs_nothing() {
        let Some((_dir, lower, upper)) = image() else { return };
        setup(&Canvas::new(&lower, &upper), "1234", "/app").expect("setup");
        assert_eq!(owner(&upper.join("app")).0, 1234);
        setup(&Canvas::new(&lower, &upper), "root", "/app").expect("setup");
        assert_eq!(owner(&upper.join("app")).0, 0);
        assert!(!upper.join("etc/passwd").exists() && !upper.join("etc/sudoers.d/abx-root").exists());
    }
}
