//! Which kernels are installed: `kernels/*/kernel.json` of every data directory, as Jupyter looks for them.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::settings::Settings;

/// An installed kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelSpec {
    /// The name of its directory.
    pub(crate) name: String,
    /// In lower case.
    pub(crate) language: String,
    pub(crate) argv: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    /// It is interrupted by a message, not by a signal.
    pub(crate) interrupted_by_message: bool,
}

#[derive(Deserialize)]
struct KernelFile {
    argv: Vec<String>,
    #[serde(default)]
    language: String,
    #[serde(default)]
    interrupt_mode: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// All of them; of several with one name the first found is the one.
pub(crate) fn find(settings: &Settings) -> Vec<KernelSpec> {
    let mut names = HashSet::new();
    let mut specs = Vec::new();
    for directory in &settings.kernels {
        let Ok(entries) = std::fs::read_dir(directory.join("kernels")) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if let Some(spec) =
                read(&path, directory, &settings.env).filter(|spec| names.insert(spec.name.clone()))
            {
                specs.push(spec);
            }
        }
    }
    specs
}

/// `JUPYTER_PATH`, the user's own, those beside the programs of `PATH`, the system's.
pub(crate) fn data_directories(env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let paths = |name: &str| -> Vec<PathBuf> {
        env.get(name).map(|value| std::env::split_paths(value).collect()).unwrap_or_default()
    };
    let own = |name: &str, below: &str| {
        env.get(name).filter(|value| !value.is_empty()).map(|value| Path::new(value).join(below))
    };
    let mut directories = paths("JUPYTER_PATH");
    directories.extend(
        own("JUPYTER_DATA_DIR", "")
            .or_else(|| own("XDG_DATA_HOME", "jupyter"))
            .or_else(|| own("HOME", ".local/share/jupyter")),
    );
    directories.extend(own("VIRTUAL_ENV", "share/jupyter"));
    directories.extend(own("CONDA_PREFIX", "share/jupyter"));
    for programs in paths("PATH") {
        if programs.file_name().is_some_and(|name| name == "bin") {
            directories.extend(programs.parent().map(|prefix| prefix.join("share/jupyter")));
        }
    }
    directories.extend(["/usr/local/share/jupyter", "/usr/share/jupyter"].map(PathBuf::from));
    let mut seen = HashSet::new();
    directories.retain(|directory| directory.is_absolute() && seen.insert(directory.clone()));
    directories
}

fn read(path: &Path, data: &Path, env: &BTreeMap<String, String>) -> Option<KernelSpec> {
    let file: KernelFile = serde_json::from_slice(&std::fs::read(path.join("kernel.json")).ok()?).ok()?;
    let name = path.file_name()?.to_str()?.to_lowercase();
    let mut argv: Vec<String> =
        file.argv.iter().map(|word| word.replace("{resource_dir}", &path.to_string_lossy())).collect();
    let program = argv.first_mut()?;
    *program = find_program(program, data, env)?.to_str()?.to_owned();
    Some(KernelSpec {
        name,
        language: file.language.to_lowercase(),
        argv,
        env: file.env,
        interrupted_by_message: file.interrupt_mode == "message",
    })
}

/// A kernel that names a bare `python` means the one it was installed with.
fn find_program(program: &str, data: &Path, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    if program.contains('/') {
        return is_executable(Path::new(program)).then(|| program.into());
    }
    let beside = data.ancestors().nth(2).map(|prefix| prefix.join("bin").join(program));
    beside.filter(|path| is_executable(path)).or_else(|| on_path(program, env))
}

/// The first executable of that name on `PATH`.
pub(crate) fn on_path(program: &str, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    std::env::split_paths(env.get("PATH")?)
        .map(|directory| directory.join(program))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(directory: &Path, name: &str, text: &str) {
        let path = directory.join("kernels").join(name);
        std::fs::create_dir_all(&path).expect("mkdir");
        std::fs::write(path.join("kernel.json"), text).expect("write");
    }

    /// What there is, but for what the system has.
    fn found(env: BTreeMap<String, String>) -> Vec<KernelSpec> {
        let mut kernels = data_directories(&env);
        kernels.retain(|directory| !directory.starts_with("/usr"));
        find(&Settings { env, kernels })
    }

    #[test]
    fn the_first_of_a_name_is_the_one_and_broken_ones_are_none() {
        let root = tempfile::tempdir().expect("tempdir");
        let (first, second) = (root.path().join("first"), root.path().join("second"));
        let text = |language: &str| {
            format!(r#"{{"argv":["/bin/sh","{{resource_dir}}/x"],"language":"{language}"}}"#)
        };
        kernel(&first, "Bash", &text("bash"));
        kernel(&first, "broken", "{");
        kernel(&first, "gone", r#"{"argv":["/no/such/program"],"language":"x"}"#);
        kernel(&second, "bash", &text("other"));
        kernel(&second, "r", r#"{"argv":["sh"],"language":"R","interrupt_mode":"message"}"#);
        let env = BTreeMap::from([
            ("JUPYTER_PATH".to_owned(), format!("{}:{}", first.display(), second.display())),
            ("HOME".to_owned(), root.path().join("home").display().to_string()),
            ("PATH".to_owned(), "/bin".to_owned()),
        ]);
        let specs = found(env);
        let [bash, r] = &specs[..] else { panic!("{specs:?}") };
        assert_eq!((&*bash.name, &*bash.language), ("bash", "bash"));
        assert_eq!(bash.argv[1], first.join("kernels/Bash/x").to_str().expect("utf-8"));
        assert_eq!((&*r.language, r.interrupted_by_message, &*r.argv[0]), ("r", true, "/bin/sh"));
    }

    #[test]
    fn a_kernel_beside_a_program_of_the_path_is_found_and_keeps_to_its_own() {
        let root = tempfile::tempdir().expect("tempdir");
        let bin = root.path().join("bin");
        std::fs::create_dir(&bin).expect("mkdir");
        std::os::unix::fs::symlink("/bin/sh", bin.join("python")).expect("symlink");
        kernel(&root.path().join("share/jupyter"), "own", r#"{"argv":["python"],"language":"python"}"#);
        let env = BTreeMap::from([("PATH".to_owned(), format!("/bin:{}", bin.display()))]);
        let specs = found(env);
        let own = specs.iter().find(|spec| spec.name == "own").expect("found");
        assert_eq!(own.argv[0], bin.join("python").to_str().expect("utf-8"));
    }
}
