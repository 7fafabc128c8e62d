//! The few file operations control groups are made of.

use std::io::Write;
use std::path::Path;

use crate::error::SystemError;

/// Where groups are made: the kernel, or a double.
pub trait Files: Clone + std::fmt::Debug {
    /// Makes a group; one that exists is fine.
    fn make(&self, directory: &Path) -> Result<(), SystemError>;
    /// Removes a group without processes.
    fn remove(&self, directory: &Path) -> Result<(), SystemError>;
    /// Writes a control file, which must exist.
    fn write(&self, file: &Path, value: &str) -> Result<(), SystemError>;
    fn read(&self, file: &Path) -> Result<String, SystemError>;
}

/// The kernel's own.
#[derive(Clone, Copy, Debug)]
pub struct Kernel;

impl Files for Kernel {
    fn make(&self, directory: &Path) -> Result<(), SystemError> {
        match std::fs::create_dir(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            result => Ok(result?),
        }
    }

    fn remove(&self, directory: &Path) -> Result<(), SystemError> {
        Ok(std::fs::remove_dir(directory)?)
    }

    fn write(&self, file: &Path, value: &str) -> Result<(), SystemError> {
        // One write: the kernel takes each for a whole value.
        let mut open = std::fs::OpenOptions::new().write(true).open(file)?;
        Ok(open.write_all(value.as_bytes())?)
    }

    fn read(&self, file: &Path) -> Result<String, SystemError> {
        Ok(std::fs::read_to_string(file)?)
    }
}
