//! A repository for everybody to fetch: two thousand files of made-up program text, as git archives them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::clock::quiet;
use crate::bench::peers::installed;
use crate::failure::Failure;

/// How it is referred to.
pub(crate) const NAME: &str = "bench/repository";

/// A folder of it that is a template too.
pub(crate) const FOLDER: &str = "package-07";

const FILES: usize = 2000;

/// Files of a folder.
const IN_FOLDER: usize = 40;

const TEMPLATE: &str = "version: \"1\"\nmetadata:\n  name: bench\nbase:\n  image: debian\n";

/// An archive and the commit it is of.
pub(crate) struct Repository {
    archive: PathBuf,
    commit: String,
}

impl Repository {
    /// Makes it in `folder`; the same each time.
    pub(crate) fn make(folder: &Path) -> Result<Self, Failure> {
        let git = installed("git", "git").map_err(|reason| Failure::unexpected("git", reason))?;
        let tree = folder.join("tree");
        fill(&tree)?;
        let git = |words: &[&str]| {
            let mut command = Command::new(&git);
            command.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]).args(words);
            for date in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
                command.env(date, "2026-01-01T00:00:00Z");
            }
            quiet(command.current_dir(&tree))
        };
        git(&["init", "--quiet"])?;
        git(&["add", "--all"])?;
        git(&["commit", "--quiet", "--message", "all of it"])?;
        let commit = git(&["rev-parse", "HEAD"])?.trim().to_owned();
        let archive = folder.join("archive.tar.gz");
        let prefix = format!("--prefix={}/", top(&commit));
        git(&["archive", "--format=tar.gz", &prefix, "--output", &archive.display().to_string(), "HEAD"])?;
        std::fs::remove_dir_all(&tree).map_err(Failure::file(&tree))?;
        Ok(Self { archive, commit })
    }

    /// The bytes a server sends.
    pub(crate) fn archive(&self) -> Result<Vec<u8>, Failure> {
        std::fs::read(&self.archive).map_err(Failure::file(&self.archive))
    }

    pub(crate) fn commit(&self) -> &str {
        &self.commit
    }

    /// The archive's one top folder.
    pub(crate) fn top(&self) -> String {
        top(&self.commit)
    }
}

fn top(commit: &str) -> String {
    format!("{}-{}", NAME.replace('/', "-"), &commit[..7])
}

fn fill(tree: &Path) -> Result<(), Failure> {
    let mut text = Text::new();
    for number in 0..FILES {
        let part = ["src", "tests", "docs", "lib"][number % 4];
        let path = format!("package-{:02}/{part}/file_{number}.py", number / IN_FOLDER);
        write(&tree.join(path), &text.file())?;
    }
    write(&tree.join("template.yaml"), TEMPLATE)?;
    write(&tree.join(FOLDER).join("template.yaml"), TEMPLATE)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(Failure::file(folder))?;
    std::fs::write(path, text).map_err(Failure::file(path))
}

/// Words in lines, pseudo-random and always the same; they compress to about two fifths, as program text does that
/// repeats itself little.
struct Text {
    state: u64,
    words: Vec<String>,
}

impl Text {
    fn new() -> Self {
        let mut text = Self { state: 0x9E37_79B9_7F4A_7C15, words: Vec::new() };
        for _ in 0..3000 {
            let length = 2 + text.below(10);
            let letters = (0..length).map(|_| char::from(b'a' + text.below(26) as u8));
            let word = letters.collect();
            text.words.push(word);
        }
        text
    }

    fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 33) as usize % end
    }

    /// Most files are small, a few are not: 17 KB in the mean.
    fn file(&mut self) -> String {
        let size = match self.below(10) {
            0 => 60_000 + self.below(40_000),
            1..=4 => 8_000 + self.below(12_000),
            _ => 500 + self.below(8_000),
        };
        let mut file = String::with_capacity(size + 128);
        while file.len() < size {
            file.push_str(&" ".repeat(4 * self.below(4)));
            for _ in 0..2 + self.below(8) {
                let word = self.below(self.words.len());
                file.push_str(&self.words[word]);
                file.push(' ');
            }
            file.push_str(["\n", ";\n", "()\n", "{\n"][self.below(4)]);
        }
        file
    }
}
