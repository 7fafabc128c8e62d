//! What of a package's folder its Dockerfile can copy, told without building.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use abx_dockerfile::{Glob, Verdict, Word};

use super::Dockerfile;
use super::fault::DockerfileFault;
use super::sources::{self, Named};

/// Every source that is not there, or is left out by the ignore file. Those whose variables only an image knows are left
/// to the build.
pub(crate) fn missing(root: &Path, display: &str, dockerfile: &Dockerfile) -> Vec<DockerfileFault> {
    let mut faults = Vec::new();
    for Named { text, span, .. } in sources::named(dockerfile) {
        let path = cleaned(&text);
        if path.is_empty() || is_pattern(&text) {
            continue;
        }
        let at = || Box::new(dockerfile.file.source.snippet(span));
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

/// Every pattern that matches nothing of what the build sees. Nothing is copied then, and that is no fault.
pub(crate) fn idle(root: &Path, dockerfile: &Dockerfile) -> io::Result<Vec<DockerfileFault>> {
    let mut idle = Vec::new();
    for Named { text, span, has_parents } in sources::named(dockerfile) {
        if !is_pattern(&text) {
            continue;
        }
        let (pivot, pattern) =
            if has_parents { text.split_once("/./").unwrap_or(("", &text)) } else { ("", &*text) };
        let start = cleaned(&format!("{pivot}/{}", start(pattern)));
        let mut paths = BTreeSet::new();
        collect(root, &start, &dockerfile.verdict(&start), dockerfile, &mut paths)?;
        let (pivot, pattern) = (cleaned(pivot), cleaned(pattern));
        let below = paths.iter().filter_map(|path| path.strip_prefix(&pivot).ok()?.to_str());
        let is_met = if has_parents { is_within(&pattern, below) } else { is_met(&pattern, below) };
        // A pattern that means nothing is told by the build.
        if is_met == Some(false) {
            let at = Box::new(dockerfile.file.source.snippet(span));
            idle.push(DockerfileFault::NoMatch { pattern: text, at });
        }
    }
    Ok(idle)
}

/// Whether a path begins with what the pattern means, part by part.
fn is_met<'p>(pattern: &str, mut paths: impl Iterator<Item = &'p str>) -> Option<bool> {
    let globs: Vec<Glob> = pattern.split('/').map(|part| Glob::source(part).ok()).collect::<Option<_>>()?;
    Some(paths.any(|path| {
        let mut parts = path.split('/');
        globs.iter().all(|glob| parts.next().is_some_and(|part| glob.matches(part)))
    }))
}

/// Whether a path, or a folder it lies in, is what the pattern means.
fn is_within<'p>(pattern: &str, mut paths: impl Iterator<Item = &'p str>) -> Option<bool> {
    let glob = Glob::new(pattern).ok()?;
    Some(paths.any(|path| Path::new(path).ancestors().any(|path| glob.matches(&path.to_string_lossy()))))
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '\\'])
}

/// What it can copy, and the files that say so, as paths relative to `root`.
pub(crate) fn files(root: &Path, dockerfile: &Dockerfile) -> io::Result<BTreeSet<PathBuf>> {
    let mut paths = BTreeSet::new();
    let own = abx_dockerfile::ignore::files(dockerfile.name).into_iter().chain([dockerfile.name.to_owned()]);
    paths.extend(own.map(PathBuf::from).filter(|path| root.join(path).is_file()));
    let mut starts: Vec<String> = words(dockerfile).map(|word| start(&word.text)).collect();
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

/// The words that name files of the package in the stages the target needs, and in what others do that begin with one
/// of them.
fn words(dockerfile: &Dockerfile) -> impl Iterator<Item = &Word> {
    let stages = dockerfile.graph.order.iter().map(|number| &dockerfile.file.stages[*number]);
    let instructions = stages.flat_map(|stage| stage.instructions.iter().chain(stage.triggers()));
    instructions.flat_map(|instruction| sources::sources(&instruction.action)).map(|(word, _)| word)
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
            (".", ""),
            ("./config/", "config"),
            ("/a/../b", "b"),
            ("../../a", "a"),
            ("src/*.rs", "src"),
            ("src/a*/b", "src"),
            ("*.txt", ""),
            ("$DIR/a", ""),
        ];
        for (text, expected) in rows {
            assert_eq!(start(text), expected, "{text}");
        }
    }

    #[test]
    fn what_patterns_meet() {
        let paths = ["a/b.rs", "a/c/d.rs", "x"];
        let met = |pattern| is_met(pattern, paths.into_iter());
        let within = |pattern| is_within(pattern, paths.into_iter());
        assert_eq!(
            ["*.rs", "*", "a/*.rs", "?/c", "a/*/e"].map(met),
            [false, true, true, true, false].map(Some)
        );
        assert_eq!(["**/*.rs", "*/c", "b/**"].map(within), [true, true, false].map(Some));
        assert_eq!((met("[a"), within("[a")), (None, None));
    }
}
