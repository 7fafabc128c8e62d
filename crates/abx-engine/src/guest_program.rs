//! The daemon that runs inside every sandbox, carried within this program.
//!
//! The build script makes it; here it becomes a file that can be executed.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use abx_core::Home;
use abx_core::fs::Staging;

/// Begins with its digest's first half, so that another version lies beside it.
const NAME: &str = concat!("abx-guest-", env!("ABX_GUEST_DIGEST"));
const MODE: u32 = 0o555;

/// The program: statically linked, for the architecture this was built for.
pub fn bytes() -> &'static [u8] {
    include_bytes!(env!("ABX_GUEST_PROGRAM"))
}

/// Where it lies as a file, written there once: `store/tools/abx-guest-<digest>`, mode 0555. Later calls look
/// only whether it is there and whole.
pub fn installed(home: &Home) -> io::Result<PathBuf> {
    let path = home.store("tools").join(NAME);
    if is_whole(&path) {
        return Ok(path);
    }
    let staging = Staging::new(&home.store("staging"))?;
    let mut file = File::create_new(staging.path().join(NAME))?;
    file.write_all(bytes())?;
    file.set_permissions(Permissions::from_mode(MODE))?;
    file.sync_all()?;
    // A file that is open for writing cannot be executed.
    drop(file);
    staging.publish(NAME, &path)?;
    Ok(path)
}

fn is_whole(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|status| {
        status.is_file()
            && status.len() == bytes().len() as u64
            && status.permissions().mode() & 0o7777 == MODE
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn it_is_written_once_mended_when_damaged_and_runs() {
        let directory = tempfile::tempdir().expect("tempdir");
        let home = Home::new(directory.path());
        let path = installed(&home).expect("installed");
        let written = path.metadata().expect("metadata").modified().expect("time");
        assert_eq!(installed(&home).expect("again"), path);
        assert_eq!(path.metadata().expect("metadata").modified().expect("time"), written);
        std::fs::remove_file(&path).expect("remove");
        std::fs::write(&path, "half").expect("damage");
        installed(&home).expect("mended");
        assert_eq!(std::fs::read(&path).expect("read"), bytes());
        let output = Command::new(&path).env_clear().output().expect("it executes");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(complaint.contains("ABX_LISTEN_FD"), "{complaint}");
        assert_eq!(std::fs::read_dir(home.store("staging")).expect("list").count(), 0);
    }
}
