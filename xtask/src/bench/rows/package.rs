//! The package that is built: three Debian packages, two Python packages, a folder of 200 files; and the same as a
//! Dockerfile.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// How many files are copied.
const FILES: usize = 200;

/// A folder with a `template.yaml` and, in a folder of its own, a Dockerfile.
pub(crate) struct Package {
    folder: PathBuf,
}

impl Package {
    /// Writes it to `folder`.
    pub(crate) fn write(folder: PathBuf) -> Result<Self, Failure> {
        let package = Self { folder };
        for parent in [package.template(), package.context()] {
            let data = parent.join("data");
            std::fs::create_dir_all(&data).map_err(Failure::file(&data))?;
            for number in 0..FILES {
                write(&data.join(format!("{number:03}.txt")), &format!("{number}\n").repeat(200))?;
            }
        }
        package.new_steps(0)?;
        Ok(package)
    }

    /// The folder with the template.
    pub(crate) fn template(&self) -> PathBuf {
        self.folder.join("template")
    }

    /// The folder with the Dockerfile.
    pub(crate) fn context(&self) -> PathBuf {
        self.folder.join("context")
    }

    /// A Dockerfile over `image`.
    pub(crate) fn write_dockerfile(&self, image: &str) -> Result<(), Failure> {
        let text = format!(
            "FROM {image}\n\
             RUN apt-get update && apt-get install -y --no-install-recommends file less tree \
             && rm -rf /var/lib/apt/lists/*\n\
             RUN pip install --no-cache-dir --break-system-packages toolz six\n\
             COPY data /app/data\n"
        );
        write(&self.context().join("Dockerfile"), &text)
    }

    /// Changes every step of the template, so that none is cached. (`--no-cache` would make its parents anew, too.)
    pub(crate) fn new_steps(&self, round: usize) -> Result<(), Failure> {
        let text = format!(
            "version: \"1\"\n\
             metadata:\n  name: bench\n  version: \"1.0.0\"\n\
             base:\n  from: python-base\n\
             build:\n  apt_install: [file, less, tree]\n  pip_install: [toolz, six]\n\
             \x20 env:\n    DEBIAN_ROUND: \"{round}\"\n    PIP_ROUND: \"{round}\"\n    UV_ROUND: \"{round}\"\n\
             \x20 copy:\n    - src: data/\n      dest: /app/data/\n"
        );
        write(&self.template().join("template.yaml"), &text)
    }

    /// Changes one of the files.
    pub(crate) fn change_file(&self, round: usize) -> Result<(), Failure> {
        for parent in [self.template(), self.context()] {
            write(&parent.join("data/100.txt"), &format!("changed {round}\n"))?;
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(Failure::file(path))
}
