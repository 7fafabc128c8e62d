//! How callers name files.

use std::path::{Component, Path, PathBuf};

use crate::users::User;

/// A path that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathError {
    /// `~somebody`.
    OthersHome(String),
    /// No file's name holds a zero byte.
    ZeroByte,
}

impl std::fmt::Display for PathError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OthersHome(path) => write!(f, "cannot expand another user's home directory: '{path}'"),
            Self::ZeroByte => f.write_str("path holds a zero byte"),
        }
    }
}

/// The absolute path without `.` and `..`: `~` and relative paths start at the user's home, the empty one is
/// `default` (or the home, where that is empty too).
pub(crate) fn resolve(path: &str, user: &User, default: &Path) -> Result<PathBuf, PathError> {
    if path.contains('\0') {
        return Err(PathError::ZeroByte);
    }
    let wanted = match path.strip_prefix('~') {
        _ if path.is_empty() => default,
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Path::new(rest.trim_start_matches('/')),
        Some(_) => return Err(PathError::OthersHome(path.to_owned())),
        None => Path::new(path),
    };
    Ok(clean(&user.home.join(wanted)))
}

/// Resolves `.` and `..` by the text alone.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => clean.push(name),
            Component::ParentDir => {
                clean.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute() {
        let user = User {
            name: "user".into(),
            uid: 1000,
            gid: 1000,
            groups: vec![1000],
            home: "/home/user".into(),
            shell: "/bin/sh".into(),
        };
        let rows = [
            ("", Ok("/app")),
            ("a", Ok("/home/user/a")),
            ("./a/../b/", Ok("/home/user/b")),
            ("../../../..", Ok("/")),
            ("~", Ok("/home/user")),
            ("~/x", Ok("/home/user/x")),
            ("~//etc", Ok("/home/user/etc")),
            ("/etc//passwd", Ok("/etc/passwd")),
            ("~root/x", Err(PathError::OthersHome("~root/x".into()))),
            ("a\0b", Err(PathError::ZeroByte)),
        ];
        for (path, expect) in rows {
            assert_eq!(resolve(path, &user, Path::new("/app")), expect.map(PathBuf::from), "{path:?}");
        }
        assert_eq!(resolve("", &user, Path::new("")), Ok("/home/user".into()));
    }
}
