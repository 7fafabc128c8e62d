//! A folder with a Dockerfile and what it copies.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// What is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Three Debian packages, two Python packages, a folder of 200 files.
    Packages,
    /// Ten stages that run something over what they copy, and one that copies from all.
    Stages,
    /// A folder of 5,000 files.
    Files,
}

/// One builder's own copy.
pub(crate) struct Project {
    kind: Kind,
    folder: PathBuf,
    /// What `FROM` says.
    image: String,
}

impl Project {
    /// Writes it to `folder`, over `image`.
    pub(crate) fn write(kind: Kind, folder: PathBuf, image: &str) -> Result<Self, Failure> {
        let project = Self { kind, folder, image: image.to_owned() };
        let folders = kind.folders();
        let each = kind.files() / folders;
        for number in 0..kind.files() {
            let folder = project.folder.join(format!("data/{}", number / each));
            if number % each == 0 {
                std::fs::create_dir_all(&folder).map_err(Failure::file(&folder))?;
            }
            write(&folder.join(format!("{number}.txt")), &format!("{number}\n").repeat(200))?;
        }
        project.renew(0)?;
        Ok(project)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the Dockerfile so that no step of it is one of another `round`.
    pub(crate) fn renew(&self, round: usize) -> Result<(), Failure> {
        write(&self.folder.join("Dockerfile"), &self.kind.dockerfile(&self.image, round))
    }

    /// Changes one of the files.
    pub(crate) fn change_file(&self, round: usize) -> Result<(), Failure> {
        write(&self.folder.join("data/0/1.txt"), &format!("changed {round}\n"))
    }
}

impl Kind {
    /// The built-in template it begins with.
    pub(crate) fn template(self) -> &'static str {
        if self == Self::Packages { "python-base" } else { "base" }
    }

    fn files(self) -> usize {
        if self == Self::Files { 5000 } else { 200 }
    }

    fn folders(self) -> usize {
        match self {
            Self::Packages => 1,
            Self::Stages => STAGES,
            Self::Files => 50,
        }
    }

    fn dockerfile(self, image: &str, round: usize) -> String {
        match self {
            Self::Packages => format!(
                "FROM {image}\n\
                 RUN : {round} && apt-get update && apt-get install -y --no-install-recommends file less tree \
                 && rm -rf /var/lib/apt/lists/*\n\
                 RUN pip install --no-cache-dir --break-system-packages toolz six\n\
                 COPY data /app/data\n"
            ),
            Self::Stages => stages(image, round),
            Self::Files => format!("FROM {image}\nCOPY data /app/data-{round}\n"),
        }
    }
}

const STAGES: usize = 10;

fn stages(image: &str, round: usize) -> String {
    let mut text = String::new();
    for stage in 0..STAGES {
        let _ = write!(
            text,
            "FROM {image} AS stage{stage}\nCOPY data/{stage} /src\n\
             RUN mkdir /out && cat /src/* | sha256sum > /out/{stage} && echo {round} >> /out/{stage}\n"
        );
    }
    let _ = writeln!(text, "FROM {image}");
    for stage in 0..STAGES {
        let _ = writeln!(text, "COPY --from=stage{stage} /out/{stage} /out/");
    }
    text
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(Failure::file(path))
}
