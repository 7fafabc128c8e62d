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
        if !canvas.view().exists(path)? {
            canvas.file(path, b"", 0o644, Owner::ROOT)?;
        }
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
            canvas.copy(&target, &found.host, mode, owner)?;
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
