//! What of a package's folder its Dockerfile can copy, told without building.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use abx_dockerfile::{Action, Instruction, MountKind, Verdict, Word};

use super::Dockerfile;
use super::fault::DockerfileFault;

/// Every source that is not there, or is left out by the ignore file. Sources with variables or patterns are left to
/// the build.
pub(crate) fn missing(root: &Path, display: &str, dockerfile: &Dockerfile) -> Vec<DockerfileFault> {
    let mut faults = Vec::new();
    for word in sources(dockerfile, false) {
        let Some(path) = plain(&word.text).filter(|path| !path.is_empty()) else { continue };
        let at = || Box::new(dockerfile.file.source.snippet(word.span));
        if root.join(&path).symlink_metadata().is_err() {
            faults.push(DockerfileFault::NoSource { path, at: at() });
        } else if dockerfile.hides(&path) {
            let files = abx_dockerfile::ignore::files(dockerfile.name);
            let file = files.into_iter().find(|file| root.join(file).is_file()).unwrap_or_default();
            let ignore = format!("{}/{file}", display.trim_end_matches('/'));
            faults.push(DockerfileFault::Ignored { path, ignore, at: at() });
        }
    }
    faults
}

/// What it can copy, and the files that say so, as paths relative to `root`.
pub(crate) fn files(root: &Path, dockerfile: &Dockerfile) -> io::Result<BTreeSet<PathBuf>> {
    let mut paths = BTreeSet::new();
    let own = abx_dockerfile::ignore::files(dockerfile.name).into_iter().chain([dockerfile.name.to_owned()]);
    paths.extend(own.map(PathBuf::from).filter(|path| root.join(path).is_file()));
    let mut starts: Vec<String> =
        sources(dockerfile, true).into_iter().map(|word| start(&word.text)).collect();
    starts.sort();
    let mut done: Vec<&str> = Vec::new();
    for start in &starts {
        if done.iter().any(|above| Path::new(start).starts_with(above)) {
            continue;
        }
        done.push(start);
        collect(root, start, &dockerfile.verdict(start), dockerfile, &mut paths)?;
    }
    Ok(paths)
}

/// Adds `path`, and what lies below it, as far as it is not ignored.
fn collect(
    root: &Path,
    path: &str,
    verdict: &Verdict,
    dockerfile: &Dockerfile,
    paths: &mut BTreeSet<PathBuf>,
) -> io::Result<()> {
    let Ok(metadata) = root.join(path).symlink_metadata() else { return Ok(()) };
    if !path.is_empty() && !verdict.is_ignored {
        paths.insert(PathBuf::from(path));
    }
    let may_keep = |ignore: &abx_dockerfile::Ignore| path.is_empty() || ignore.may_keep_below(verdict, path);
    if !metadata.is_dir() || !dockerfile.ignore.as_deref().is_none_or(may_keep) {
        return Ok(());
    }
    for entry in root.join(path).read_dir()? {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        if name == ".git" {
            continue;
        }
        let below = if path.is_empty() { name } else { format!("{path}/{name}") };
        let verdict = match dockerfile.ignore.as_deref() {
            Some(ignore) => ignore.below(verdict, &below),
            None => Verdict::default(),
        };
        collect(root, &below, &verdict, dockerfile, paths)?;
    }
    Ok(())
}

impl Dockerfile {
    /// Whether the build sees neither `path` nor anything below it.
    fn hides(&self, path: &str) -> bool {
        let verdict = self.verdict(path);
        let Some(ignore) = self.ignore.as_deref() else { return false };
        verdict.is_ignored && !ignore.may_keep_below(&verdict, path)
    }

    fn verdict(&self, path: &str) -> Verdict {
        let Some(ignore) = self.ignore.as_deref() else { return Verdict::default() };
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.filter(|end| *end > 0)
            .fold(Verdict::default(), |verdict, end| ignore.below(&verdict, &path[..end]))
    }
}

/// The words that name files of the package in the stages the target needs. What others do that begin with a stage
/// counts where `with_triggers` says so.
fn sources(dockerfile: &Dockerfile, with_triggers: bool) -> Vec<&Word> {
    let mut words = Vec::new();
    for &number in &dockerfile.graph.order {
        let stage = &dockerfile.file.stages[number];
        stage.instructions.iter().for_each(|instruction| of_instruction(instruction, &mut words));
        if with_triggers {
            stage.triggers().for_each(|instruction| of_instruction(instruction, &mut words));
        }
    }
    words
}

fn of_instruction<'d>(instruction: &'d Instruction, words: &mut Vec<&'d Word>) {
    match &instruction.action {
        Action::Copy(copy) if copy.from.is_none() => words.extend(&copy.files.sources),
        Action::Add(add) => {
            words.extend(add.files.sources.iter().filter(|source| !source.text.contains("://")));
        }
        Action::Run(run) => {
            words.extend(run.mounts.iter().filter_map(|mount| match &mount.kind {
                MountKind::Bind { source, from: None, .. } => Some(source),
                _ => None,
            }));
        }
        _ => {}
    }
}

/// The path a source means, where no variable, pattern or quote stands in it.
fn plain(text: &str) -> Option<String> {
    let is_plain = !text.contains(['$', '*', '?', '[', '\\', '"', '\'']);
    is_plain.then(|| cleaned(text))
}

/// The folder or file below which a source lies for sure.
fn start(text: &str) -> String {
    if text.contains(['$', '\\', '"', '\'']) {
        return String::new();
    }
    let end = text.find(['*', '?', '[']).map_or(text.len(), |at| text[..at].rfind('/').unwrap_or(0));
    cleaned(&text[..end])
}

/// A path without `.`, `..` and needless slashes; nothing leads above the root.
fn cleaned(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_source_begins() {
        let rows = [
            (".", "", Some("")),
            ("./config/", "config", Some("config")),
            ("/a/../b", "b", Some("b")),
            ("../../a", "a", Some("a")),
            ("src/*.rs", "src", None),
            ("src/a*/b", "src", None),
            ("*.txt", "", None),
            ("$DIR/a", "", None),
        ];
        for (text, expected, whole) in rows {
            assert_eq!((start(text).as_str(), plain(text).as_deref()), (expected, whole), "{text}");
        }
    }
}
